// What recipes once and recipes over steps share: the button that requests a computation from the
// worker, replaced by Cancel meanwhile; the switch that requests it again after every change; the
// line that shows its state; and what is shown before there is a result.
#pragma once

#include <optional>
#include <string>

#include "app/gui/cards/card.h"
#include "app/gui/controls/flow.h"
#include "engine/model/error.h"

namespace app {

struct OrderWords {
  const char* name;     // "recipes": the controls are recipes.compare, recipes.cancel, recipes.live
  const char* verb;     // of the control's name: "compare"
  const char* label;    // "Compare"
  const char* tooltip;  // of the button
  const char* live_tooltip;
};

/// The state of an order that could be sent now.
struct OrderState {
  bool in_progress = false;
  engine::Status valid{};
};

/// There is a worker, and the view does not show a recording.
bool can_order(const SessionView& view);
/// Why it cannot be sent, although none is in progress; empty = it can.
std::string order_refusal(const SessionView& view, const engine::Status& valid);
/// True when the button was pressed. Switches `live` off when the order is cancelled.
bool draw_order_bar(const PanelContext& context, const OrderWords& words, const OrderState& state,
                    controls::Flow& flow, bool& live);

/// Orders one kind of request.
template <class Request>
class Orders {
 public:
  void send(const PanelContext& context, const Request& request) {
    asked_ = request;
    context.commands.push_back(request);
  }
  /// While the switch is on: sends the request if it is another one than the last.
  void follow(const PanelContext& context, const Request& wanted, const engine::Status& valid) {
    if (live_ && can_order(context.view) && valid.ok() && asked_ != wanted) send(context, wanted);
  }
  void draw_bar(const PanelContext& context, const OrderWords& words, const OrderState& state,
                controls::Flow& flow, const Request& wanted) {
    if (draw_order_bar(context, words, state, flow, live_)) send(context, wanted);
  }

 private:
  bool live_ = false;
  std::optional<Request> asked_;
};

/// Before the first result: what is in progress, what went wrong, or what the button would do.
struct NoResult {
  const char* in_progress_title = "";
  std::string in_progress{};
  const char* title = "";
  std::string sentence{};
  std::string recorded{};  // for a recording: that it holds no such result
  std::string error{};     // instead of the sentence
  const char* button_id = "";
  const char* button_label = "";
};
/// True when the button was pressed.
bool draw_no_result(const PanelContext& context, const Area& area, bool in_progress,
                    const NoResult& words);

/// Under the controls: what is in progress, what went wrong, or what is shown.
struct OrderStatus {
  const char* id = "";
  const char* label = "";
  std::string in_progress{};  // empty = nothing is
  std::string error{};
  std::string shown{};          // empty = nothing is, or the page's headline says what
  const char* stale = nullptr;  // what is shown answers another request
};
void draw_order_status(const PanelContext& context, const Area& area, const OrderStatus& status);

/// Where a view's controls go: right of the `taken_left` pixels that the page has used of its first
/// row, or on the next row if they need more than is left there.
Area control_row(const Theme& theme, const Area& area, float taken_left, float needed);

}  // namespace app
