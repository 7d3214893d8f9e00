"""What stands behind the things: skylines that show the scene, marks in the sky that show time and
weather.

Everything is a list of (polygon, role) in picture units: x from 0 left to 1 right, y from 0 top to
1 bottom, reaching beyond the frame so that any viewpoint is filled. Roles name colors of the
palette; no role depends on what is the case.
"""
