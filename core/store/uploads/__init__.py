"""What people upload in the browser: kept in the store, each upload in a folder of its own."""

from core.store.uploads.dataset import keep_dataset
from core.store.uploads.place import find_upload, keep_file, uploads_folder

__all__ = ["find_upload", "keep_dataset", "keep_file", "uploads_folder"]
