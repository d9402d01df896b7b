// Every field of a RunRequest as an option of the same name as in its JSON: "--recipe.scaling",
// "--shape.rows". The list is generated from the request's own fields(), so that a new field
// there becomes an option at once. Fields whose last word is unique can also be given by that word
// alone, "--rows", and some by what people call them, "--routing" (FieldRules::also). A command
// that varies its request takes several values of a number or a choice, "--rows 256,1024".
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "app/controllers/setting_meanings.h"
#include "app/sweep/number_axis.h"
#include "engine/input/presets.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app::cli {

/// Under which the help lists what names a whole request, and what a command writes.
inline constexpr const char* kRequestGroup = "Request";
inline constexpr const char* kOutputGroup = "Output";

/// A field of a request as an option.
struct RequestOption {
  std::string path = {};                // dotted: "routing.distribution"
  std::vector<std::string> names = {};  // without the dashes before them; the first is the path
  std::string expected = {};            // its values, in words
  std::string usual = {};               // its default, as it is written; empty = none
  const SettingAbout* about = nullptr;  // never null: a test asks for every field's
  const engine::Type* type = nullptr;
  engine::FieldRules rules = {};

  /// Also those from before it was renamed, which scripts may still have.
  std::vector<std::string> all_names() const;
};
/// In the order of the request's fields.
const std::vector<RequestOption>& request_options();
/// The option of this name, without dashes before it; null if no field has it. '-', '_' and letter
/// case are the same.
const RequestOption* find_request_option(std::string_view name);
/// Whether an option of this name, without dashes before it, is a field of a request.
bool is_request_field(std::string_view name);

/// A value of a request that was typed otherwise than as an option of its own.
struct TypedSetting {
  const RequestOption* option = nullptr;  // null = the name of a shape preset, as --preset takes it
  std::string value;
  std::string typed;  // how messages name it: "--b recipe"
};

class RequestOptions {
 public:
  enum class Lists { Refused, Allowed };
  /// Adds --request, --preset and one option per field. Call once.
  void add_to(CLI::App& command, Lists lists = Lists::Refused);
  /// Whether a file of this path is on this machine.
  using IsHere = std::function<bool(const std::string& path)>;
  /// Applies the request file to `request`, then the preset, then single fields, then `more` in the
  /// same order. Validated. A
  /// routing of this machine that has several readings is refused; one of another machine is its
  /// worker's to judge. A field that lists several values has the first of them; which
  /// combinations are valid is then for the plan of the runs to say.
  engine::Result<engine::RunRequest> resolve(const IsHere& is_here, engine::RunRequest request = {},
                                             std::span<const TypedSetting> more = {}) const;
  /// Once they are added: the option of this field, for a command that has its own words about it.
  CLI::Option& option_of(std::string_view path);
  /// Where the cuBLASLt library of the resolved request was named: the request file, or empty for
  /// an option. An option is the user's own choice.
  std::string library_file() const;
  /// The fields that list several values.
  engine::Result<std::vector<NumberAxis>> number_axes() const;
  /// The first of its options that was given, as it was typed: "--recipe"; empty = none.
  std::string given() const;
  /// Whether this field has an option of its own on the command line.
  bool given_field(std::string_view name) const;
  /// The request file; empty = none.
  const std::string& file() const { return request_file_; }

 private:
  struct Field {
    RequestOption is;
    std::string text = {};
    CLI::Option* option = nullptr;
    CLI::Option* former = nullptr;  // by its name from before it was renamed; null = it was not

    bool lists = false;  // several values are allowed

    bool several() const { return lists && given() && text.find(',') != std::string::npos; }
    bool given() const { return option->count() > 0 || (former != nullptr && former->count() > 0); }
  };

  std::string request_file_;
  std::string preset_;
  std::deque<Field> fields_;  // CLI11 keeps references to `text`: elements must not move
};

/// engine::reconcile_preset_name() with the presets of this program.
engine::Status reconcile_preset_name(engine::RunRequest& request);

/// The preset with this name; case, spaces and punctuation are ignored.
engine::Result<engine::ShapePreset> find_preset(const std::string& name);

}  // namespace app::cli
