// A run as it was in the tables that former_tables.h reads. It is described like every recorded
// value, so that the reader of today's tables reads it too. Nothing writes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/operand_statistics.h"
#include "engine/model/step_tensors.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct FormerTensor {
  engine::StepTensor tensor = engine::StepTensor::X;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t bytes = 0;
  std::int64_t saved_bytes = 0;
  engine::ProductAccuracy error = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FormerTensor::tensor>(),
                      engine::field<&FormerTensor::rows>(engine::kCount),
                      engine::field<&FormerTensor::columns>(engine::kCount),
                      engine::field<&FormerTensor::bytes>(engine::kCount),
                      engine::field<&FormerTensor::saved_bytes>(engine::kCount),
                      engine::field<&FormerTensor::error>()};
  }
};

struct FormerErrorSource {
  engine::StepTensor tensor = engine::StepTensor::X;
  double snr_db = 0.0;
  std::uint64_t left_out = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&FormerErrorSource::tensor>(),
                      engine::field<&FormerErrorSource::snr_db>(),
                      engine::field<&FormerErrorSource::left_out>(engine::kCount)};
  }
};

struct FormerLayer {
  std::vector<FormerTensor> tensors = {};
  std::vector<FormerErrorSource> error_sources = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&FormerLayer::tensors>({.most = engine::kStepTensors.size()}),
        engine::field<&FormerLayer::error_sources>({.most = engine::kStepTensors.size()})};
  }
};

struct FormerRun {
  static constexpr RecordedKind kKind = RecordedRun::kKind;
  engine::OperandStatistics activations = {};
  engine::OperandStatistics weights = {};
  engine::OperandStatistics gradients = {};
  engine::OperandStatistics activated = {};
  engine::OperandStatistics down_weights = {};
  engine::OperandStatistics inner_gradients = {};
  std::optional<FormerLayer> expert_layer = {};
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&FormerRun::activations, &FormerRun::weights, &FormerRun::gradients,
                          &FormerRun::activated, &FormerRun::down_weights,
                          &FormerRun::inner_gradients, &FormerRun::expert_layer>();
  }
};

}  // namespace profiling
