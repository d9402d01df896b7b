// What the bars say about another machine: where runs happen, and what there is to do when it is
// lost.
#include <fmt/format.h>

#include "app/gui/controls/widgets.h"
#include "app/gui/shell/bars.h"
#include "engine/model/backend_traits.h"

namespace app {
namespace {

/// Of the first backend that runs on one; empty = there is none.
std::string device_name(const std::optional<WorkerHello>& hello) {
  if (!hello) return {};
  for (const BackendOffer& offer : hello->backends) {
    if (offer.available && engine::traits_of(offer.kind).device) return offer.device.name;
  }
  return {};
}

std::string connecting_words(const MachineStatus& status) {
  const std::string& host = status.options.host;
  if (status.question) return host + " asks";
  const MachineSteps::Step* step = status.steps.current();
  if (step == nullptr) return host + " ...";
  if (step->fraction > 0) return fmt::format("{} {:.0f} %", host, 100 * step->fraction);
  return fmt::format("{}: {}", host, step->title);
}

}  // namespace

MachineWords machine_words_of(const MachineStatus& status, const SessionView& view,
                              const std::string& connection_lost) {
  using Tone = MachineWords::Tone;
  if (status.connecting) {
    const MachineSteps::Step* step = status.steps.current();
    return {.label = connecting_words(status),
            .tooltip = fmt::format("Connecting to {}{}{}", status.options.host,
                                   step == nullptr ? "" : ": ", step == nullptr ? "" : step->words),
            .tone = status.question ? Tone::Warn : Tone::Busy};
  }
  if (view.host.empty()) {
    return {.label = "This machine",
            .tooltip = "Where runs happen. A GPU in another machine can be used by way of ssh."};
  }
  if (view.link.state == LinkState::Lost || view.link.state == LinkState::Stalled) {
    return {.label = view.host + (view.link.state == LinkState::Lost ? " lost" : " silent"),
            .tooltip = connection_lost.empty() ? view.link.reason : connection_lost,
            .tone = Tone::Bad};
  }
  const std::string device = device_name(view.hello);
  return {.label = device.empty() ? view.host : view.host + " · " + device,
          .tooltip = fmt::format("Runs happen on {}{}", view.host,
                                 status.facts ? ": " + machine_words(*status.facts) : "")};
}

std::optional<Banner> machine_banner(const PanelContext& context, const MachineStatus& status,
                                     const std::string& connection_lost, bool dialog_open) {
  const SessionView& view = context.view;
  const Theme& theme = context.theme;
  const float width = theme.px(120);
  if (status.connecting) {
    if (!status.question || dialog_open) return std::nullopt;
    return Banner{.id = "banner.machine",
                  .color = theme.colors.warn,
                  .text = fmt::format("{} asks: {}", status.options.host, status.question->text),
                  .width = width,
                  .actions = [&context, &status, width](float) {
                    const bool answered = status.question->kind != ConnectQuestion::Kind::Notice;
                    if (controls::button(context, "machine.open",
                                         answered ? "Answer ..." : "Show ...", {.width = width})) {
                      context.commands.push_back(Action::ChooseMachine);
                    }
                  }};
  }
  const bool silent = !view.host.empty() && view.link.state == LinkState::Stalled;
  const bool unconnected =
      !status.error.empty() && view.link.state == LinkState::Lost && view.link.pid == 0;
  std::string text;
  if (!connection_lost.empty()) {
    text = fmt::format("Connection to {} lost: {}. The last results stay on screen.", view.host,
                       connection_lost);
    if (!status.error.empty()) text += " Not connected again: " + status.error;
  } else if (silent) {
    text = fmt::format("{} does not answer: {}.", view.host, view.link.reason);
  } else if (unconnected) {
    text = fmt::format("{} is not connected: {}", status.options.host, status.error);
  }
  // The dialog shows why itself.
  if (text.empty() || (unconnected && dialog_open)) return std::nullopt;
  return Banner{
      .id = "banner.machine",
      .color = silent ? theme.colors.warn : theme.colors.bad,
      .text = std::move(text),
      .width = 2 * width + theme.px(kGapSmall),
      .actions = [&context, width](float) {
        if (controls::button(context, "machine.again", "Connect again", {.width = width})) {
          context.commands.push_back(Action::ConnectAgain);
        }
        ImGui::SameLine(0, context.theme.px(kGapSmall));
        if (controls::button(context, "machine.local", "Use this machine",
                             {.tooltip = "Runs happen here again; results stay", .width = width})) {
          context.commands.push_back(Action::UseThisMachine);
        }
      }};
}

}  // namespace app
