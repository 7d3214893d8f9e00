"""What a wheel holds: `core`, the Python interface `platoscope`, and the dashboard as the folder
`platoscope_app`.

`core.settings.ROOT` is that folder where Platoscope is installed, and the repository in a checkout.
"""

from setuptools import find_namespace_packages, setup

setup(
    packages=[
        *find_namespace_packages(include=["core", "core.*"], exclude=["*.__pycache__"]),
        "platoscope",
        "platoscope_app",
    ],
    package_dir={"platoscope_app": "."},  # whose only module is app.py
    package_data={
        "platoscope_app": [
            ".streamlit/config.toml",
            "pages/**/*.py",
            "pages/**/*.js",
            "data/*.*",
            "data/cave/**",
            "data/color/*",
            "data/demo/**",
            "data/fonts/*",
            "data/published/*",
            "data/studies/*",
            "data/theory/*",
        ],
        "core.cave": ["*.svg", "*.toml"],
        "core.cave.training": ["*.toml"],
    },
)
