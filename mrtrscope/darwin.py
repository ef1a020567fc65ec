"""What macOS says where Linux has a file in /proc. Loaded where there is none."""

import os


def boot_session() -> str:
    """Names this run of the machine; "" when unknown."""
    if os.uname().sysname != "Darwin":
        return ""
    try:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        text, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
        if libc.sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, 0) == 0:
            return text.value.decode("ascii", "replace")
    except (OSError, AttributeError):
        pass
    return ""
