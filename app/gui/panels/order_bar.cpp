// The button shows as its reason why it is disabled.
#include "app/gui/panels/order_bar.h"

#include <string>

#include "app/gui/controls/widgets.h"

namespace app {

bool draw_order_bar(const PanelContext& context, const OrderBar& bar, controls::Flow& flow,
                    bool& live) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const auto id = [&bar](const char* part) { return std::string(bar.name) + "." + part; };
  bool ordered = false;
  flow.next(theme.px(84));
  if (bar.under_way) {
    if (controls::button(context, id("cancel").c_str(), "Cancel", {.width = theme.px(84)})) {
      context.commands.push_back(Action::Cancel);
      live = false;
    }
  } else {
    controls::Options options{.tooltip = bar.tooltip, .width = theme.px(84)};
    if (!bar.valid.ok()) {
      options.enabled = false;
      options.reason = bar.valid.error().message;
    } else if (view.link.state == LinkState::Lost) {
      options.enabled = false;
      options.reason = "There is no worker: " + view.link.reason;
    }
    ordered = controls::button(context, id(bar.verb).c_str(), bar.label, options);
  }
  flow.next(theme.px(60));
  controls::checkbox(context, id("live").c_str(), "Live", live,
                     {.enabled = !view.from_file,
                      .reason = "A recording cannot be changed: go back to live first",
                      .tooltip = bar.live_tooltip});
  return ordered;
}

}  // namespace app
