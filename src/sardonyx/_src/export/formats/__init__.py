"""Files that hold code and data: relocatable objects, archives and shared libraries."""
