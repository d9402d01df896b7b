// The button that requests a computation from the worker, replaced by Cancel meanwhile, and the
// switch that requests it again after every change: shared by recipes, pow-2 cost and amax history.
#pragma once

#include "app/gui/controls/flow.h"
#include "app/gui/controls/panel_context.h"
#include "engine/model/error.h"

namespace app {

struct OrderBar {
  const char* name;     // "recipes": the controls are recipes.compare, recipes.cancel, recipes.live
  const char* verb;     // of the control's name: "compare"
  const char* label;    // "Compare"
  const char* tooltip;  // of the button
  const char* live_tooltip;
  bool under_way = false;
  engine::Status valid{};  // of the order to be sent
};

/// True when it was ordered. Switches `live` off when the order is cancelled.
bool draw_order_bar(const PanelContext& context, const OrderBar& bar, controls::Flow& flow,
                    bool& live);

}  // namespace app
