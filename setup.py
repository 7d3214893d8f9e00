"""What a wheel holds: `core`, the Python interface `platoscope`, and the dashboard as the folder
`platoscope_app`.

`core.settings.ROOT` is that folder where Platoscope is installed, and the repository in a checkout.
"""

import runpy
from pathlib import Path

from setuptools import find_namespace_packages, setup

runpy.run_path("core/cave/weights.py")["unpack"](Path("data/cave"))

setup(
    packages=[
        *find_namespace_packages(include=["core", "core.*"], exclude=["*.__pycache__"]),
        "platoscope",
        "platoscope_app",
    ],
    package_dir={"platoscope_app": "."},  # whose only module is app.py
    exclude_package_data={"platoscope_app": ["data/cave/*/model.xz", "data/cave/tokenizers/**"]},
    package_data={
        "platoscope_app": [
            ".streamlit/config.toml",
            "pages/**/*.py",
            "pages/**/*.js",
            "data/*.*",
            "data/cave/**",
            "data/color/*",
            "data/fonts/*",
            "data/published/*",
            "data/studies/*",
            "data/theory/*",
        ],
        "core.cave": ["*.svg", "*.toml"],
        "core.cave.training": ["*.toml"],
        "core.metrics": ["*.toml"],
    },
)
