// A library that is linked with NCCL and calls it itself.
#include "tests/attach/communicator_calls.h"

namespace {

constexpr CommunicatorCalls kCalls = {
    .init_rank = [](ncclComm_t* made, int ranks, ncclUniqueId id,
                    int rank) { return ncclCommInitRank(made, ranks, id, rank); },
    .split = [](ncclComm_t from, int color, int key, ncclComm_t* made,
                ncclConfig_t* config) { return ncclCommSplit(from, color, key, made, config); },
    .finalize = [](ncclComm_t comm) { return ncclCommFinalize(comm); },
    .destroy = [](ncclComm_t comm) { return ncclCommDestroy(comm); },
    .abort = [](ncclComm_t comm) { return ncclCommAbort(comm); },
    .all_reduce =
        [](const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
           ncclComm_t comm, CUstream stream) {
          return ncclAllReduce(from, to, count, type, operation, comm, stream);
        },
    .send = [](const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
               CUstream stream) { return ncclSend(from, count, type, peer, comm, stream); }};

}  // namespace

extern "C" const CommunicatorCalls* calls_of_extension();
extern "C" const CommunicatorCalls* calls_of_extension() { return &kCalls; }
