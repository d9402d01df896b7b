// The list and the field choose, the buttons order, and below them stands how far the way is. What
// ssh asks comes before the steps, so that it is seen in the smallest window.
#include "app/gui/shell/machine_dialog.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "app/protocol/typed_words.h"
#include "app/protocol/worker_command.h"

namespace app {
namespace {

constexpr int kMaxAnswer = 1024;
constexpr int kMaxHost = 255;
constexpr int kMaxLauncher = 1024;

bool pressed(ImGuiKey key, bool repeat = false) {
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), repeat);
}

std::vector<std::string> gpu_names(const std::vector<GpuFacts>& gpus) {
  std::vector<std::string> names = {"All GPUs"};
  for (const GpuFacts& gpu : gpus) {
    names.push_back(fmt::format("{}: {}, {}", gpu.index, gpu.name, gpu.memory));
  }
  return names;
}

}  // namespace

void MachineDialog::open(MachineController& machine) {
  open_ = true;
  focus_ = true;
  connecting_ = machine.status().connecting;
  question_ = 0;
  name_.clear();
  selected_ = -1;  // the machine in use, once the list is drawn
  machine.look_for_hosts();
}

void MachineDialog::close() {
  open_ = false;
  forget_answer();
}

void MachineDialog::forget_answer() {
  if (answer_.empty()) return;
  ::explicit_bzero(answer_.data(), answer_.size());
  answer_.clear();
  controls::forget_typed_text();
}

std::string MachineDialog::target() const {
  if (!name_.empty()) return name_;
  const auto at = static_cast<std::size_t>(std::max(selected_, 0));
  return at == 0 || at > hosts_.size() ? std::string() : hosts_[at - 1];
}

void MachineDialog::select(int index) {
  selected_ = std::clamp(index, 0, static_cast<int>(hosts_.size()));
  name_.clear();
  scroll_ = true;
}

/// A machine that is connected moves to the front; what is selected stays selected.
void MachineDialog::list(std::vector<std::string> hosts) {
  if (hosts == hosts_) return;
  const bool other = selected_ > 0 && selected_ <= static_cast<int>(hosts_.size());
  const std::string chosen = other ? hosts_[static_cast<std::size_t>(selected_) - 1] : "";
  hosts_ = std::move(hosts);
  if (!other) return;
  const auto at = std::ranges::find(hosts_, chosen);
  selected_ = at == hosts_.end() ? 0 : static_cast<int>(at - hosts_.begin()) + 1;
}

void MachineDialog::use_keys(bool& entered) {
  if (pressed(ImGuiKey_DownArrow, true)) select(selected_ + 1);
  if (pressed(ImGuiKey_UpArrow, true)) select(selected_ - 1);
  entered = pressed(ImGuiKey_Enter) || pressed(ImGuiKey_KeyPadEnter);
}

void MachineDialog::draw_list(const PanelContext& context, float height) {
  const Theme& theme = context.theme;
  const ChildScope list("##machines", {0, height}, theme.colors.window,
                        {theme.px(kGap), theme.px(kGap)});
  for (int i = 0; i <= static_cast<int>(hosts_.size()); ++i) {
    const std::string& host = i == 0 ? std::string() : hosts_[static_cast<std::size_t>(i) - 1];
    const std::string label = i == 0 ? "This machine" : host;
    const bool selected = i == selected_ && name_.empty();
    ImGui::PushID(i);
    const bool clicked =
        ImGui::Selectable(label.c_str(), selected, ImGuiSelectableFlags_AllowDoubleClick);
    if (selected && std::exchange(scroll_, false)) ImGui::SetScrollHereY();
    const bool used = context.view.host == host && context.view.link.state != LinkState::Lost;
    controls::record(context, i == 0 ? "machine.this" : ("machine.host." + host).c_str(),
                     label.c_str(), "option", fmt::format("selected={};used={}", selected, used),
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
    if (used) {
      const std::string words = "runs happen here";
      ImGui::SameLine(ImGui::GetWindowWidth() - theme.px(kGapSection + 4) - shown_size(words).x);
      show_dimmed(words);
    }
    ImGui::PopID();
    if (!clicked) continue;
    select(i);
    if (!ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) continue;
    if (i == 0) {
      context.commands.push_back(Action::UseThisMachine);
    } else if (refusal().empty()) {
      context.commands.push_back(ConnectMachine{choice_});
    }
  }
}

void MachineDialog::draw_field(const PanelContext& context) {
  if (std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  controls::input_text(context, "machine.name", "Another", name_,
                       {.tooltip = "user@host, or a Host of ~/.ssh/config, as ssh takes it",
                        .hint = "user@host",
                        .most_bytes = kMaxHost});
  if (name_.empty()) return;
  const engine::Status status = check_machine_name(name_);
  if (status.ok()) return;
  const TextColorScope color(context.theme.colors.bad);
  show_wrapped(status.error().message);
  controls::record(context, "machine.refusal", "Why this is no machine", "text",
                   status.error().message, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

void MachineDialog::draw_choices(const PanelContext& context, const MachineController& machine) {
  const std::string host = target();
  if (host != choice_.host) {
    choice_ = machine.options_for(host);
    launcher_ = typed_words(choice_.launcher);
    launcher_flaw_.clear();
  }
  if (host.empty()) return;
  int way = static_cast<int>(choice_.library);
  if (controls::combo(
          context, "machine.library", "cuBLASLt", way,
          {"Fetched there from PyPI, else sent from here", "Fetched there from PyPI",
           "Sent from here", "Left out: what that machine has"},
          {.tooltip = "How the machine gets the library of the grouped products, 400 MB, once. "
                      "A machine without a GPU gets none."})) {
    choice_.library = static_cast<ProvideLibrary>(way);
  }
  draw_launcher(context);
  draw_gpu(context, machine.status());
}

void MachineDialog::draw_launcher(const PanelContext& context) {
  const std::string before = launcher_;
  controls::input_text(
      context, "machine.launcher", "Launcher", launcher_,
      {.tooltip = "What starts the worker there, such as Slurm's srun. Blanks separate its words, "
                  "quotes keep them together; no shell reads them. Connect uses it",
       .hint = "none; srun --gres=gpu:1",
       .most_bytes = kMaxLauncher});
  if (launcher_ != before) {
    engine::Result<std::vector<std::string>> words = words_of(launcher_);
    launcher_flaw_ = words.ok() ? "" : "Launcher: " + words.error().message;
    if (words.ok()) choice_.launcher = std::move(words).value();
  }
  if (!launcher_flaw_.empty()) {
    const TextColorScope color(context.theme.colors.bad);
    show_wrapped(launcher_flaw_);
    controls::record(context, "machine.launcher_refusal", "Why these are no words", "text",
                     launcher_flaw_, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  } else if (!choice_.launcher.empty()) {
    const std::string words = shown_words(choice_.launcher);
    const TextColorScope color(context.theme.colors.dim_text);
    show_wrapped("The worker is started by " + words);
    controls::record(context, "machine.launcher_words", "Words of the launcher", "text", words,
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  }
}

void MachineDialog::draw_gpu(const PanelContext& context, const MachineStatus& status) {
  std::vector<GpuFacts> gpus;
  if (status.facts && status.options.host == choice_.host) gpus = status.facts->gpus;
  if (gpus.size() < 2 && choice_.gpu < 0) return;
  if (std::ranges::find(gpus, choice_.gpu, &GpuFacts::index) == gpus.end() && choice_.gpu >= 0) {
    gpus.push_back({.index = choice_.gpu,
                    .name = "chosen before",
                    .memory = "not looked at yet",
                    .driver = {}});
  }
  const auto chosen = std::ranges::find(gpus, choice_.gpu, &GpuFacts::index);
  int index = choice_.gpu < 0 ? 0 : static_cast<int>(chosen - gpus.begin()) + 1;
  if (controls::combo(context, "machine.gpu", "GPU", index, gpu_names(gpus),
                      {.tooltip = "As nvidia-smi counts them; Connect uses the choice"})) {
    choice_.gpu = index == 0 ? -1 : gpus[static_cast<std::size_t>(index) - 1].index;
  }
}

std::string MachineDialog::refusal() const {
  const std::string host = target();
  if (host.empty()) return "Select a machine, or type its name";
  if (!check_machine_name(host).ok()) return "This is not a machine name";
  return launcher_flaw_;
}

void MachineDialog::draw_buttons(const PanelContext& context, const MachineController& machine,
                                 bool entered) {
  const float width = context.theme.px(120);
  const bool connecting = machine.status().connecting;
  const std::string host = target();
  const std::string refused = refusal();
  if (entered) focus_ = true;  // it takes the caret out of the field
  const bool again = !host.empty() && host == context.view.host;
  if (controls::button(context, "machine.connect", again ? "Connect again" : "Connect",
                       {.enabled = refused.empty(),
                        .reason = refused,
                        .tooltip = "Enter. The worker is sent there; nothing is installed",
                        .width = width}) ||
      (entered && refused.empty())) {
    context.commands.push_back(ConnectMachine{choice_});
  }
  ImGui::SameLine(0, context.theme.px(kGap));
  const bool here = context.view.host.empty() && context.view.link.state != LinkState::Lost;
  if (controls::button(context, "machine.use_this", "Use this machine",
                       {.enabled = !here,
                        .reason = "Runs happen on this machine already",
                        .tooltip = "Runs happen here again; results stay",
                        .width = width}) ||
      (entered && host.empty() && !here)) {
    context.commands.push_back(Action::UseThisMachine);
  }
  ImGui::SameLine(0, context.theme.px(kGap));
  if (controls::button(context, "machine.cancel", "Cancel",
                       {.enabled = connecting,
                        .reason = "Nothing is being connected",
                        .tooltip = "Ends the connecting",
                        .width = width})) {
    context.commands.push_back(Action::CancelConnecting);
  }
}

void MachineDialog::draw_question(const PanelContext& context, MachineController& machine,
                                  bool entered) {
  const MachineStatus& status = machine.status();
  // What was typed was for the question that is gone.
  if (!status.question) return forget_answer();
  const Theme& theme = context.theme;
  const bool fresh = std::exchange(question_, status.questions) != status.questions;
  if (fresh) forget_answer();
  const ConnectQuestion::Kind kind = status.question->kind;
  const bool build = kind == ConnectQuestion::Kind::Build;
  const float width = theme.px(80);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  {
    const TextColorScope color(theme.colors.warn);
    show_text(build ? "A worker with CUDA" : fmt::format("{} asks", status.options.host));
  }
  show_wrapped(status.question->text);
  controls::record(context, "machine.question", "What is asked", "text", status.question->text, at,
                   ImGui::GetItemRectMax());
  if (kind == ConnectQuestion::Kind::Notice) return;
  if (kind != ConnectQuestion::Kind::Secret) {
    std::string yes = "yes";
    std::string no = "no";
    if (controls::button(context, "machine.yes", "Yes",
                         {.tooltip = build ? "Cancel ends the building; what is compiled is kept"
                                           : "ssh writes the key to its list of known hosts",
                          .width = width})) {
      return machine.answer(yes);
    }
    ImGui::SameLine(0, theme.px(kGap));
    if (controls::button(context, "machine.no", "No",
                         {.tooltip = build ? "The worker without CUDA is sent" : "ssh gives up",
                          .width = width})) {
      machine.answer(no);
    }
    return;
  }
  if (fresh) ImGui::SetKeyboardFocusHere();
  const float room = ImGui::GetContentRegionAvail().x;
  controls::secret_text(context, "machine.answer", "##machine.answer", answer_,
                        {.tooltip = "Passed on to ssh, and kept nowhere",
                         .most_bytes = kMaxAnswer,
                         .width = room - 2 * width - 2 * theme.px(kGap)});
  ImGui::SameLine(0, theme.px(kGap));
  const bool given =
      controls::button(context, "machine.give", "Answer", {.tooltip = "Enter", .width = width});
  if (given || entered) {
    machine.answer(answer_);
    controls::forget_typed_text();
    return;
  }
  ImGui::SameLine(0, theme.px(kGap));
  if (controls::button(context, "machine.refuse", "No answer",
                       {.tooltip = "ssh tries another way, or gives up", .width = width})) {
    forget_answer();
    machine.refuse_answer();
  }
}

void MachineDialog::draw_steps(const PanelContext& context, const MachineStatus& status) {
  using State = StepReport::State;
  const Theme& theme = context.theme;
  if (status.options.host.empty()) {
    show_wrapped(
        "The GPU can be in another machine that your ssh reaches. The worker is sent there over "
        "ssh, runs there while this window is connected, and needs no installation.");
    return;
  }
  const float title = theme.px(72);
  const float bar = theme.px(110);
  for (const MachineSteps::Step& step : status.steps.steps) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float row = ImGui::GetTextLineHeight();
    const float x = ImGui::GetCursorPosX();
    const char* state = "waits";
    ImU32 color = theme.colors.line;
    if (step.state == State::Doing)
      std::tie(state, color) = std::pair("doing", theme.colors.accent);
    if (step.state == State::Done) std::tie(state, color) = std::pair("done", theme.colors.good);
    if (step.state == State::Skipped) {
      std::tie(state, color) = std::pair("skipped", theme.colors.dim_text);
    }
    if (step.state == State::Failed) std::tie(state, color) = std::pair("failed", theme.colors.bad);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddCircleFilled({at.x + row / 2, at.y + row / 2}, theme.px(4), color);
    ImGui::SetCursorPosX(x + row + theme.px(kGapSmall));
    step.state ? show_text(step.title) : show_dimmed(step.title);
    const bool progress = step.state == State::Doing && step.fraction > 0;
    const float words = x + row + theme.px(kGapSmall) + title;
    const float room = ImGui::GetWindowWidth() - words - theme.px(kPanelPadding) -
                       (progress ? bar + theme.px(kGap) : 0.0F);
    ImGui::SameLine(words);
    // Why it failed stands below, where it has room.
    const std::string shown =
        fitted(ImGui::GetFont(), step.state == State::Failed ? "failed" : step.words, room);
    show_text(shown);
    const ImVec2 end = {at.x + ImGui::GetWindowWidth() - theme.px(kPanelPadding), at.y + row};
    if (progress) {
      const float high = theme.px(6);
      const ImVec2 low = {end.x - bar, at.y + (row - high) / 2};
      const float part = static_cast<float>(std::clamp(step.fraction, 0.0, 1.0));
      list.AddRectFilled(low, {low.x + bar, low.y + high}, theme.colors.line, high / 2);
      list.AddRectFilled(low, {low.x + bar * part, low.y + high}, theme.colors.accent, high / 2);
    }
    if (ImGui::IsMouseHoveringRect(at, end)) {
      controls::tooltip(context, with_whole(shown, step.words));
    }
    controls::record(context, (std::string("machine.step.") + step.id).c_str(), step.title, "text",
                     fmt::format("{}: {}", state, step.words), at, end);
  }
  if (status.error.empty()) return;
  ImGui::Dummy({0, theme.px(kGapSmall)});
  const TextColorScope color(theme.colors.bad);
  show_wrapped(status.error);
  controls::record(context, "machine.error", "Why it is not connected", "text", status.error,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  if (status.steps.of(ConnectStep::Reach).state != State::Failed) return;
  const TextColorScope dimmed(theme.colors.dim_text);
  show_wrapped(
      fmt::format("In a terminal, ssh {} must work first: name, user and keys are those of "
                  "~/.ssh/config.",
                  status.options.host));
}

void MachineDialog::draw(const PanelContext& context, MachineController& machine) {
  if (!open_) return;
  const Theme& theme = context.theme;
  const MachineStatus& status = machine.status();
  list(machine.hosts());
  if (selected_ < 0) {
    const std::string& used = status.connecting ? status.options.host : context.view.host;
    const auto at = std::ranges::find(hosts_, used);
    select(at == hosts_.end() ? 0 : static_cast<int>(at - hosts_.begin()) + 1);
    if (at == hosts_.end() && !used.empty()) name_ = used;
  }
  // Where it has worked, there is nothing left to do here, unless there is a GPU to choose.
  const bool done = std::exchange(connecting_, status.connecting) && !status.connecting &&
                    status.error.empty() && status.facts.has_value();
  if (done && (status.facts->gpus.size() < 2 || status.options.gpu >= 0)) return close();

  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size = {std::min(theme.px(620), display.x - theme.px(32)),
                       std::min(theme.px(500), display.y - theme.px(32))};
  const ImVec2 at = {(display.x - size.x) / 2, (display.y - size.y) / 2};
  if (focus_) ImGui::SetNextWindowFocus();
  const OverlayScope overlay("##machine", at, size, theme.colors.panel);
  const bool in_front = ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows);
  // A field would only give its old text back.
  if (in_front && pressed(ImGuiKey_Escape)) return close();
  bool entered = false;
  if (in_front) use_keys(entered);
  const bool asks = status.question.has_value();
  if (asks) focus_ = false;  // it is given to the answer
  {
    const FontScope font(theme.fonts.title);
    ImGui::AlignTextToFramePadding();
    show_text("Where to run");
  }
  ImGui::SameLine(ImGui::GetWindowContentRegionMax().x - theme.px(96));
  const bool closed =
      controls::button(context, "machine.close", "Close",
                       {.tooltip = "Esc; connecting goes on", .width = theme.px(96)});
  controls::record(context, "machine", "Where to run", "text",
                   fmt::format("connecting={};asks={}", status.connecting, asks), at,
                   {at.x + size.x, at.y + size.y});
  draw_list(context, std::clamp(0.34F * size.y, theme.px(66), theme.px(170)));
  draw_field(context);
  draw_choices(context, machine);
  draw_buttons(context, machine, entered && !asks);
  ImGui::Dummy({0, theme.px(kGapSmall)});
  {
    const ChildScope below("##way", {0, 0}, theme.colors.panel, {0, 0});
    draw_question(context, machine, entered && asks);
    draw_steps(context, status);
  }
  if (closed) close();
}

}  // namespace app
