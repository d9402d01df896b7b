"""A Python program to attach to: its calls of the driver hold the interpreter's lock, or not. Run: python_subject.py held|free [tensor]
With "tensor" a framework's cache gives the memory to another tensor, in place of freeing it."""

import ctypes
import sys

cuda = (ctypes.PyDLL if sys.argv[1] == "held" else ctypes.CDLL)("libcuda.so.1")
stream = ctypes.c_void_p()
x = ctypes.c_uint64()


def check(result):
    if result != 0:
        sys.exit(f"the driver gave {result}")


def clear():
    check(cuda.cuMemsetD8Async(x, 0, 64, stream))


def step():
    clear()
    clear()


check(cuda.cuInit(0))
check(cuda.cuStreamCreate(ctypes.byref(stream), 0))
check(cuda.cuMemAlloc_v2(ctypes.byref(x), 4096))
tensor = ctypes.CDLL("libattached_allocator.so") if sys.argv[2:] == ["tensor"] else None


def report(size):
    tensor.report_block(x, ctypes.c_int64(size), 1)


def forget():
    report(-512)
    report(512)


if tensor:
    report(512)
check(cuda.cuStreamBeginCapture_v2(stream, 0))
step()
graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))
check(cuda.cuGraphLaunch(executable, stream))
if tensor:
    forget()
else:
    check(cuda.cuMemFree_v2(x))
check(cuda.cuGraphLaunch(executable, stream))
