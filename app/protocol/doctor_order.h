// An experiment ordered from a worker, and the answer.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/run_request.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"

namespace app {

struct DoctorOrder {
  engine::RunRequest request;
  std::string gallery_case;  // if not empty: this case instead of the request
  bool healthy = false;      // the case's healthy twin
  profiling::Experiment experiment = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&DoctorOrder::request>("request"),
                      engine::field<&DoctorOrder::gallery_case>("gallery_case"),
                      engine::field<&DoctorOrder::healthy>("healthy"),
                      engine::field<&DoctorOrder::experiment>("experiment")};
  }
};

struct DoctorDone {
  std::uint64_t id = 0;
  profiling::Snapshot snapshot = {};
  profiling::Outcome outcome = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&DoctorDone::id>("id"),
                      engine::field<&DoctorDone::snapshot>("snapshot"),
                      engine::field<&DoctorDone::outcome>("outcome")};
  }
};

}  // namespace app
