// NCCL's functions that make, use or end a communicator, as its nccl.h declares them
// (https://github.com/NVIDIA/nccl/blob/master/src/nccl.h.in, compared with that of 2.32.3,
// 2026-11-26):
// NCCL is not needed to build this library. Enumerations are passed on as the integers that they
// are.
#pragma once

#pragma GCC visibility push(default)  // the wrappers are exported
#include <cuda.h>

#include <cstddef>

extern "C" {

enum ncclResult_t : int { ncclSuccess = 0, ncclSystemError = 2, ncclInProgress = 7 };
using ncclDataType_t = int;
using ncclRedOp_t = int;
using ncclComm_t = struct ncclComm*;
using ncclConfig_t = struct ncclConfig_v21700;
struct ncclUniqueId {
  char internal[128];
};

ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t* made, int ranks, int rank, int ids,
                                      ncclUniqueId* id, ncclConfig_t* config);
ncclResult_t ncclCommInitAll(ncclComm_t* made, int devices, const int* list);
ncclResult_t ncclCommSplit(ncclComm_t from, int color, int key, ncclComm_t* made,
                           ncclConfig_t* config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, CUstream stream);
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, CUstream stream);
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       CUstream stream);
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t comm, CUstream stream);
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, CUstream stream);
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, CUstream stream);
ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type,
                          ncclComm_t comm, CUstream stream);
ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, CUstream stream);
ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, CUstream stream);
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, CUstream stream);
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      CUstream stream);

}  // extern "C"
#pragma GCC visibility pop
