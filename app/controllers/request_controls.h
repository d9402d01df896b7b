// Every setting of the request as the user sees it: one table, from which the rail draws its
// controls and the command palette makes its actions. A control finds its value by the path of its
// field; its limits and whether it has an effect come from the engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/controllers/link_supervisor.h"
#include "engine/gemm/support.h"
#include "engine/model/run_request.h"

namespace app {

enum class ControlKind : std::uint8_t {
  Segments,  // one of a few choices, all in view
  List,      // one of several choices
  Switch,
  Number,
  Decades,  // a number that may span many of them
};

struct ControlChoice {
  const char* label;
  std::int64_t value;  // of the field
  bool file = false;   // asks for a file as well
};

struct ControlOptions {
  const char* alone = "";  // label in the palette, where it appears alone; empty = as in the rail
  const char* tooltip = "";
  const char* words = "";  // other words that people look for it by, in the palette
  std::span<const ControlChoice> choices = {};
  const char* row = nullptr;  // of a switch or number: label of the row that it begins
  bool beside = false;        // in the same row as the previous control
  bool seldom = false;        // in the rail only where it differs from its default, or on request
  const char* zero = "";      // of a number: what 0 means, shown instead of it
  int per_row = 0;            // choices in a row; 0 = all
  bool gated = false;         // choices are greyed out by the gate table
  bool compared = false;      // a comparison of recipes reads it, whatever the request's recipe
  std::int64_t maximum = 0;   // of a number whose field has no limit
};

struct RequestControl {
  const char* group;  // section of the rail, group of the palette
  const char* id;     // "recipe.format"; its choices are "recipe.format.0", ...
  const char* field;  // "recipe.activation_format"
  ControlKind kind;
  const char* label;  // in the rail
  ControlOptions options = {};
};

/// In the order of the rail.
std::span<const RequestControl> request_controls();
/// The one with this id.
const RequestControl& request_control(std::string_view id);

/// Labels of its choices. The control is found by its id: a section of the rail may draw a changed
/// copy.
const std::vector<std::string>& choice_labels(const RequestControl& control);

/// A field that the request does not have now (an element type where values come from a file) has
/// its default.
double control_value(const RequestControl& control, const engine::RunRequest& request);
/// The number of this control can have a fraction.
bool is_real(const RequestControl& control);
/// Value of a control: 0 or 1 for a switch, the enumerator for a choice; a real number is rounded.
std::int64_t control_number(const RequestControl& control, const engine::RunRequest& request);

/// The range of a drag, and the value that a double click sets.
struct ControlRange {
  double low = 0;
  double high = 0;
  double reset = 0;
};
ControlRange control_range(const RequestControl& control);

/// If the request has alternatives (synthetic values or a file), selects the one that the control
/// belongs to. `value` is stored only if the field can hold it.
void set_control_value(const RequestControl& control, engine::RunRequest& request,
                       std::int64_t value);
void set_control_value(const RequestControl& control, engine::RunRequest& request, double value);
/// The request does not have this control's default. Values that come from a file differ.
bool differs_from_default(const RequestControl& control, const engine::RunRequest& request);
/// The rail shows it unasked: it has an effect in a run of this request (`compared`: or in a
/// comparison of recipes), and is either often needed or not at its default; or it is an operand
/// whose values come from a file.
bool is_usual(const RequestControl& control, const engine::RunRequest& request, bool comparing);
/// Index of the choice that the request has; -1 = none of them.
int chosen_index(const RequestControl& control, const engine::RunRequest& request);

/// What the gates say about a request after this control was changed. Without a worker
/// everything counts as supported.
engine::Verdict control_support(const RequestControl& control, const engine::RunRequest& changed,
                                const LinkSupervisor& link);
/// Why this worker does not run the backend; empty = it does.
std::string backend_refusal(engine::GemmBackend backend, const LinkSupervisor& link);

// A setting in words, for whoever reads it: as the rail calls it. Files and the command line keep
// the names of fields and enumerators.

/// "Power-of-two scales" for "recipe.pow2_scales"; a field that has no control by its own name.
std::string setting_label(std::string_view field);
/// "Sustained" for "sustained", "on" for "true"; other texts as they are.
std::string setting_value(std::string_view field, std::string_view text);

/// Label of an enumerator of a field: "Zipf 0.7".
const char* choice_label(std::string_view id, std::int64_t value);

}  // namespace app
