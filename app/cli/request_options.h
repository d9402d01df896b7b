// Every field of a RunRequest as an option of the same name as in its JSON: "--recipe.scaling",
// "--shape.tokens". The list is walked from the request's own fields(), so that a field that is
// added there is an option at once. Fields whose last word is unique also answer to it
// alone: "--tokens".
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app::cli {

class RequestOptions {
 public:
  /// Adds --request, --preset, --recipe and one option a field. Call once.
  void add_to(CLI::App& command);
  /// Defaults, then the request file, then preset and recipe, then single fields. Validated.
  engine::Result<engine::RunRequest> resolve() const;
  /// Where the cuBLASLt library of the resolved request was named: the request file, or empty for
  /// an option. What an option says a person has said.
  std::string library_file() const;

 private:
  struct Field {
    std::string expected;
    std::string name;  // the leaf's path
    std::string text;
    CLI::Option* option = nullptr;
  };

  std::string request_file_;
  std::string preset_;
  std::string recipe_;
  std::deque<Field> fields_;  // CLI11 keeps references to `text`: elements must not move
};

/// Recipes by the short names that exports use: "fp8-block".
std::map<std::string, engine::Scaling> recipe_names();

/// The preset of this name; case, spaces and punctuation do not matter.
engine::Result<engine::ShapeSpec> find_preset(const std::string& name);

}  // namespace app::cli
