"""As much of torch as assets/bench/torch_peer.py uses, on numpy: values are exact (float64) except
for FP8 codes, and products check the operand layouts that torch's own require on a device. Events
report half a millisecond; a graph is what was called while it was captured."""
import contextlib
import types

import ml_dtypes
import numpy as np

__version__ = "0.1"
float32, bfloat16, int32, float8_e4m3fn = "float32", "bfloat16", "int32", "float8_e4m3fn"
KINDS = {int32: np.int32, float8_e4m3fn: ml_dtypes.float8_e4m3fn}
random = np.random.default_rng(1)
launched = []  # names of the products, in their order


class Tensor:
    def __init__(self, values, dtype=None):
        self.values, self.dtype = np.asarray(values), dtype or bfloat16

    shape = property(lambda self: self.values.shape)

    def _new(self, values, dtype=None):
        return Tensor(values, dtype or self.dtype)

    def to(self, dtype):
        return self._new(self.values.astype(KINDS.get(dtype, np.float64)), dtype)

    def float(self):
        return self.to(float32)

    def transpose(self, a, b):
        return self._new(np.swapaxes(self.values, a, b))

    def contiguous(self):
        return self._new(np.ascontiguousarray(self.values))

    def expand(self, *shape):
        return self._new(np.broadcast_to(self.values, shape))

    def chunk(self, parts, dim):
        return tuple(self._new(part) for part in np.split(self.values, parts, axis=dim))

    def clamp(self, min=None, max=None):
        return self._new(np.clip(self.values, min, max))

    def sigmoid(self):
        return self._new(1.0 / (1.0 + np.exp(-self.values)))

    def abs(self):
        return self._new(np.abs(self.values))

    def amax(self):
        return self._new(self.values.max())

    def sum(self, dim):
        return self._new(self.values.sum(axis=dim))

    def unflatten(self, dim, sizes):
        assert dim == 0
        return self._new(self.values.reshape(*sizes, *self.shape[1:]))

    def cumsum(self, dim):
        return self._new(self.values.cumsum(dim))

    def argsort(self, stable):
        return self._new(self.values.argsort(kind="stable" if stable else None))

    def scatter(self, dim, index, source):
        values = self.values.copy()
        np.put_along_axis(values, index.values, source.values, axis=dim)
        return self._new(values)

    def __floordiv__(self, other):
        return self._new(self.values // other)

    def index_select(self, dim, index):
        return self._new(np.take(self.values, index.values.astype(int), axis=dim))

    def _with(self, other, of):
        return self._new(of(self.values, other.values if isinstance(other, Tensor) else other))

    __add__ = __radd__ = lambda self, other: self._with(other, np.add)
    __sub__ = lambda self, other: self._with(other, np.subtract)
    __rsub__ = lambda self, other: self._with(other, lambda a, b: b - a)
    __mul__ = __rmul__ = lambda self, other: self._with(other, np.multiply)
    __truediv__ = lambda self, other: self._with(other, np.divide)
    __rtruediv__ = lambda self, other: self._with(other, lambda a, b: b / a)
    __le__ = lambda self, other: self._with(other, np.less_equal)


def randn(*shape, device=None, dtype=None):
    return Tensor(random.standard_normal(shape), dtype)


def rand(*shape, device=None, dtype=None):
    return Tensor(random.random(shape), dtype)


def ones(*shape, device=None, dtype=None):
    return Tensor(np.ones(shape), dtype)


def tensor(values, device=None):
    return Tensor(np.array(values))


def arange(count, device=None):
    return Tensor(np.arange(count))


def randperm(count, device=None):
    return Tensor(random.permutation(count))


def repeat_interleave(values, counts):
    return Tensor(np.repeat(values.values, counts.values))


def cat(tensors, dim):
    return Tensor(np.concatenate([one.values for one in tensors], axis=dim), tensors[0].dtype)


def compile(call, dynamic):
    raise RuntimeError("no compiler here")


def _groups(offs):
    ends = offs.values.astype(int)
    return list(zip([0, *ends[:-1]], ends))


def _grouped_mm(a, b, offs):
    launched.append("bf16")
    if b.values.ndim == 3:
        return Tensor(np.concatenate([a.values[begin:end] @ b.values[group]
                                      for group, (begin, end) in enumerate(_groups(offs))]))
    return Tensor(np.stack([a.values[:, begin:end] @ b.values[begin:end] for begin, end in _groups(offs)]))


def _scaled_grouped_mm(a, b, scale_a, scale_b, offs, out_dtype, use_fast_accum):
    """Scales of rows of a and columns of b, of every group."""
    assert a.dtype == b.dtype == float8_e4m3fn
    assert a.values.flags.c_contiguous, "a must be row-major"
    assert np.swapaxes(b.values, -2, -1).flags.c_contiguous, "b must be column-major"
    assert scale_a.values.flags.c_contiguous and scale_b.values.flags.c_contiguous
    launched.append("fp8 fast" if use_fast_accum else "fp8 split")
    wide = [Tensor(one.values.astype(np.float64)) for one in (a, b)]
    product = _grouped_mm(*wide, offs)
    launched.pop()
    groups = len(offs.values)
    if b.values.ndim == 3:
        assert scale_a.shape == (a.shape[0],) and scale_b.shape == (groups, b.shape[2])
        columns = np.repeat(scale_b.values, [end - begin for begin, end in _groups(offs)], axis=0)
        return Tensor(product.values * scale_a.values[:, None] * columns, out_dtype)
    assert scale_a.shape == (groups * a.shape[0],) and scale_b.shape == (groups * b.shape[1],)
    rows = scale_a.values.reshape(groups, a.shape[0], 1)
    return Tensor(product.values * rows * scale_b.values.reshape(groups, 1, b.shape[1]), out_dtype)


class Event:
    def __init__(self, enable_timing):
        pass

    record = synchronize = lambda self: None
    elapsed_time = lambda self, other: 0.5


class Stream:
    wait_stream = lambda self, other: None


class CUDAGraph:
    replay = lambda self: None


@contextlib.contextmanager
def _scope(*arguments, **options):
    yield


cuda = types.SimpleNamespace(
    init=lambda: None, get_device_name=lambda i: "no card", Event=Event, Stream=Stream, CUDAGraph=CUDAGraph,
    synchronize=lambda: None, empty_cache=lambda: None, current_stream=Stream, stream=_scope, graph=_scope,
    graph_pool_handle=lambda: None)
nn = types.SimpleNamespace(functional=types.SimpleNamespace())
version = types.SimpleNamespace(cuda="13.0")
