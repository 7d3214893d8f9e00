"""`python -m pages._shared.serve run app.py`: Streamlit's own command, for an app whose pages lie
in a folder called `pages`.

Until the first visitor has reached `st.navigation`, Streamlit takes such a folder for its old page
discovery and answers the first deep link of a fresh server with "Page not found".
"""

from streamlit.runtime.pages_manager import PagesManager
from streamlit.web.cli import main

if __name__ == "__main__":
    PagesManager.uses_pages_directory = False
    main(prog_name="streamlit")
