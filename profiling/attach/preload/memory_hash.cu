// Hashes pieces of device memory, one per thread block. Compiled to PTX, which the preloaded
// library carries (memory_hash.cpp).

struct Piece {
  unsigned long long address;  // a multiple of 16
  unsigned long long bytes;
};

/// Any change of a word or of its place changes the sum, whatever order threads add in.
__device__ unsigned long long mixed(unsigned long long word, unsigned long long place) {
  unsigned long long state = word ^ (place + 1) * 0x9E3779B97F4A7C15ULL;
  state = (state ^ (state >> 32)) * 0xD6E8FEB86659FD93ULL;
  state = (state ^ (state >> 32)) * 0xD6E8FEB86659FD93ULL;
  return state ^ (state >> 32);
}

extern "C" __global__ void expertscope_hash_memory(const Piece* pieces,
                                                   unsigned long long* hashes) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const Piece piece = pieces[blockIdx.x];
  const ulonglong2* pairs = reinterpret_cast<const ulonglong2*>(piece.address);
  const unsigned long long count = piece.bytes / sizeof(ulonglong2);
  unsigned long long mine = 0;
  for (unsigned long long i = threadIdx.x; i < count; i += blockDim.x) {
    const ulonglong2 pair = pairs[i];
    mine += mixed(pair.x, 2 * i) + mixed(pair.y, 2 * i + 1);
  }
  const unsigned char* rest = reinterpret_cast<const unsigned char*>(pairs + count);
  const unsigned long long left = piece.bytes % sizeof(ulonglong2);
  if (threadIdx.x < left) mine += mixed(rest[threadIdx.x], 2 * count + threadIdx.x);
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) hashes[blockIdx.x] = sum;
}
