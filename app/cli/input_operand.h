// The operand of a command as a tensor of a file: its shape gives the request's.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "app/cli/request_options.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"
#include "engine/model/step_tensors.h"

namespace app::cli {

struct InputOperand {
  enum class Need : std::uint8_t { Always, IfGiven };

  std::string file;
  std::string tensor;
  std::string splits;
  engine::OperandRole operand = engine::OperandRole::Activations;

  /// Adds --input, --tensor and --splits. Call once.
  void add_to(CLI::App& command, Need need);
  /// The request's options with the sizes and values of the file. Scales per tensor are exact
  /// unless a file or an option says otherwise, as in a comparison of recipes.
  engine::Result<engine::RunRequest> request(const RequestOptions& options,
                                             const RequestOptions::IsHere& is_here) const;

 private:
  /// The same, not yet validated.
  engine::Result<engine::RunRequest> sized(const RequestOptions& options,
                                           const RequestOptions::IsHere& is_here) const;
  /// The dimension of the file's tensor that this field has its value from; empty = none.
  std::string dimension_of(std::string_view path) const;
  /// Where the value of this field came from, as it was typed; empty = it was not.
  std::string origin_of(std::string_view path) const;
};

}  // namespace app::cli
