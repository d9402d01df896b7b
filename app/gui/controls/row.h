// What every control shares: the label column, the disabled look with its reason, the warn mark,
// and the entry in the control map. Private to app/gui/controls.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/gui/controls/widgets.h"

namespace app::controls {

/// The constructor draws the label and dims if disabled; the caller then draws one item of
/// `width()`; end() adds tooltip, warn mark and map entry.
class Row {
 public:
  Row(const PanelContext& context, const char* id, const char* label, const char* kind,
      const Options& options, bool label_column);
  ~Row();
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  float width() const { return width_; }
  /// By its options and by the context.
  bool enabled() const { return options_.enabled && context_.read_only.empty(); }
  /// ImGui id of the item: hidden, stable.
  const std::string& item_id() const { return item_id_; }
  void set_value(std::string value) { shown_ = value_ = std::move(value); }
  /// Of the value, where that has no room: the tooltip then has the whole.
  void set_shown(std::string shown) { shown_ = std::move(shown); }
  void set_kind(const char* kind) { kind_ = kind; }

 private:
  const PanelContext& context_;
  const char* id_;
  const char* label_;
  const char* kind_;
  const Options& options_;
  float width_ = 0;
  std::string item_id_;
  std::string value_;
  std::string shown_;
};

/// Adds the last ImGui item's rectangle to the map.
void record_item(const PanelContext& context, ControlEntry entry);

bool has_text(const char* label);

/// Arithmetic as typed into a number field: + - * / ( ) and the suffixes k, M, Ki, Mi. Empty if the
/// text is not a complete expression or its value is not finite.
std::optional<double> evaluate_expression(std::string_view text);

}  // namespace app::controls
