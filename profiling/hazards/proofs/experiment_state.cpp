#include "profiling/hazards/proofs/experiment_state.h"

#include <utility>

namespace profiling {

bool device_is_lost(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
      return true;
    default:
      return false;
  }
}

engine::Status ExperimentState::end(Verdict verdict, std::string message) {
  reply.outcome.verdict = verdict;
  reply.outcome.message = std::move(message);
  finished = true;
  return engine::Error{engine::ErrorCode::Internal, "the experiment has ended"};
}

engine::Status ExperimentState::end_with(const engine::Error& error) {
  const auto code = static_cast<cudaError_t>(error.device_error);
  return end(device_is_lost(code) ? Verdict::Crashed : Verdict::Refused, error.message);
}

void ExperimentState::compare(int replay, const Sums& expected, const Sums& got) {
  std::size_t at = 0;
  for (const SubjectOutput& output : subject.outputs()) {
    OutputCheck row{
        .replay = replay, .output = output.name, .parts = output.parts, .wrong_parts = {}};
    for (int part = 0; part < output.parts; ++part, ++at) {
      if (at >= expected.size() || at >= got.size() || expected[at] != got[at]) {
        row.wrong_parts.push_back(part);
      }
    }
    reply.outcome.checks.push_back(std::move(row));
  }
}

const engine::Allocation* ExperimentState::allocation_of(const std::string& owner) const {
  const engine::Allocation* found = nullptr;
  for (const engine::Allocation& allocation : reply.snapshot.ledger) {
    if (allocation.owner == owner) found = &allocation;
  }
  return found;
}

}  // namespace profiling
