#include "app/gui/compare/number_fields.h"

#include <fmt/format.h>

#include <utility>

#include "app/controllers/request_controls.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/text.h"
#include "engine/gemm/support.h"
#include "engine/model/leaves.h"
#include "engine/model/values.h"

namespace app {
namespace {

/// Of the request that the rail shows.
std::string value_in(const engine::RunRequest& request, const char* path) {
  const engine::FoundLeaf leaf =
      engine::find_leaf(engine::kType<engine::RunRequest>, &request, path);
  return leaf.value == nullptr ? std::string() : engine::text_of(*leaf.type, leaf.value);
}

}  // namespace

void NumberFields::read(Field& field) {
  field.values.clear();
  field.error.clear();
  if (field.text.find_first_not_of(' ') == std::string::npos) return;
  auto axis = read_axis(field.path, field.text, setting_label(field.path));
  if (axis.ok()) {
    field.values = std::move(axis).value().values;
  } else {
    field.error = axis.error().message;
  }
}

void NumberFields::draw(const PanelContext& context, controls::Flow& flow) {
  const Theme& theme = context.theme;
  const engine::RunRequest& request = context.view.requested;
  for (Field& field : fields_) {
    const std::string label = setting_label(field.path);
    const std::string no_effect = engine::inapplicable_reason(field.path, request);
    const std::string hint = value_in(request, field.path);
    const bool wrong = no_effect.empty() && !field.error.empty();
    const float mark = wrong ? theme.px(14 + kGapSmall) : 0.0F;
    flow.next(shown_size(label).x + ImGui::GetStyle().ItemSpacing.x + theme.px(field.width) + mark);
    if (controls::input_text(
            context, field.id, label.c_str(), field.text,
            {.enabled = no_effect.empty(),
             .reason = no_effect.empty() ? field.error : no_effect,
             .hazardous = wrong,
             .tooltip = wrong ? field.error
                              : fmt::format("Values to measure, separated by commas; empty = only "
                                            "{}, as in the rail",
                                            hint),
             .hint = hint.c_str(),
             .width = theme.px(field.width)})) {
      read(field);
    }
  }
}

std::vector<NumberAxis> NumberFields::axes(const engine::RunRequest& request) const {
  std::vector<NumberAxis> axes;
  for (const Field& field : fields_) {
    if (field.values.empty() || !engine::inapplicable_reason(field.path, request).empty()) continue;
    axes.push_back({.field = field.path, .values = field.values});
  }
  return axes;
}

std::string NumberFields::error(const engine::RunRequest& request) const {
  for (const Field& field : fields_) {
    if (!field.error.empty() && engine::inapplicable_reason(field.path, request).empty()) {
      return field.error;
    }
  }
  return {};
}

}  // namespace app
