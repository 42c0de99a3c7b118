"""Arrays on a device, and all that knows what a device is: torch, CuPy, their memory, their kernels.

Nothing of it is imported before such an array comes in, or `device=` is given. The rest of the house asks
for a `space`: the functions that go with an array, by the names of NumPy.
"""
