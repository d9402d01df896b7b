// One line: how the worker is, what it runs on, what was recorded, what went wrong last.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/plot/format.h"
#include "app/gui/plot/plot_text.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/saved_frame.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "app/sweep/plan.h"
#include "engine/model/backend_traits.h"
#include "engine/model/moment.h"
#include "engine/model/path_text.h"
#include "engine/model/run_request.h"

namespace app {
namespace {

ImU32 state_color(const Palette& colors, const LinkStatus& link) {
  switch (link.state) {
    case LinkState::Starting:
      return colors.dim_text;
    case LinkState::Responsive:
      return colors.good;
    case LinkState::Busy:
      return link.cancel_overdue ? colors.warn : colors.accent;
    case LinkState::Stalled:
      return colors.warn;
    case LinkState::Lost:
      break;
  }
  return colors.bad;
}

std::string state_words(const LinkStatus& link) {
  switch (link.state) {
    case LinkState::Starting:
      return "worker starting";
    case LinkState::Responsive:
      return "worker ready";
    case LinkState::Busy:
      return link.cancel_overdue ? "no answer to Cancel" : "worker busy";
    case LinkState::Stalled:
      return "worker stalled";
    case LinkState::Lost:
      break;
  }
  return link.pid == 0 && link.reason.starts_with("no worker") ? "no worker" : "worker lost";
}

/// "recorded 2026-11-22 14:03"
std::string recorded_words(const SessionView& view) {
  if (view.recorded_at_ms <= 0) return "recording";
  const auto seconds = static_cast<std::time_t>(view.recorded_at_ms / 1000);
  return "recorded " + engine::local_time(seconds, "%Y-%m-%d %H:%M");
}

void add_device(const engine::DeviceFacts& device, std::vector<std::string>& parts) {
  if (!device.name.empty()) parts.push_back(device.name);
  if (!device.driver.empty()) parts.push_back("driver " + device.driver);
  if (!device.cublaslt_version.empty()) parts.push_back("cuBLASLt " + device.cublaslt_version);
  if (!device.blas.empty()) parts.push_back(device.blas);
}

/// Another machine, device, driver and library of what is recorded and on screen, else of the
/// backend that the rail asks for.
std::vector<std::string> facts(const SessionView& view) {
  std::vector<std::string> parts;
  const std::string_view backend = engine::traits_of(view.requested.backend).label;
  if (view.from_file) {
    if (view.recorded_request) parts.emplace_back(backend);
    if (view.recorded_device != nullptr) add_device(*view.recorded_device, parts);
    return parts;
  }
  if (!view.host.empty()) {
    const std::optional<double> trip = view.link.round_trip_seconds;
    parts.push_back(trip ? fmt::format("{}, {:.0f} ms away", view.host, 1e3 * *trip) : view.host);
  }
  const BackendOffer* offer = view.hello ? offer_of(*view.hello, view.requested.backend) : nullptr;
  if (offer == nullptr) return parts;
  parts.emplace_back(backend);
  if (!offer->available) {
    parts.push_back("not available: " + offer->reason);
    return parts;
  }
  add_device(offer->device, parts);
  return parts;
}

// Widths of the fields, in grid pixels: for the longest text that each of them usually has.
constexpr float kStateWidth = 118;
constexpr float kStageWidth = 118;
constexpr float kBarWidth = 84;
constexpr float kCancelWidth = 64;
constexpr float kNoticesWidth = 34;

/// The stage and the iteration, the share that is done, and Cancel, each at its place.
bool draw_progress(const PanelContext& context, const LinkStatus& link, float line_y) {
  const PulseReport& pulse = link.pulse;
  const Theme& theme = context.theme;
  const float start = ImGui::GetCursorPosX();
  std::string words(engine::stage_name(pulse.stage));
  if (pulse.iterations > 0 && pulse.iteration >= 0) {
    words += fmt::format(" {}/{}", pulse.iteration + 1, pulse.iterations);
  }
  if (!link.sending.empty()) words = link.sending;
  ImGui::SetCursorPosY(line_y);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  plot::draw_fitted(context, ImGui::GetFont(), at, theme.colors.text, words, theme.px(kStageWidth));
  ImGui::Dummy({theme.px(kStageWidth), ImGui::GetTextLineHeight()});
  const ImVec2 size = {theme.px(kBarWidth), theme.px(6)};
  const ImVec2 bar = {at.x + theme.px(kStageWidth + kGap),
                      at.y + (ImGui::GetTextLineHeight() - size.y) / 2};
  const double done = link.sending.empty() ? pulse.fraction : link.sent_fraction;
  const float part = static_cast<float>(std::clamp(done, 0.0, 1.0));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(bar, {bar.x + size.x, bar.y + size.y}, theme.colors.line, size.y / 2);
  list.AddRectFilled(bar, {bar.x + size.x * part, bar.y + size.y}, theme.colors.accent, size.y / 2);
  controls::record(context, "status.progress", "Progress", "text", words, at,
                   {bar.x + size.x, at.y + ImGui::GetTextLineHeight()});
  ImGui::SetCursorPos({start + theme.px(kStageWidth + kBarWidth + 2 * kGap),
                       (ImGui::GetWindowHeight() - theme.px(kRowHeight)) / 2});
  return controls::button(context, "status.cancel", "Cancel", {.width = theme.px(kCancelWidth)});
}

struct Piece {
  const char* id = "";
  const char* label = "";
  std::string text{};
  std::string tooltip{};
  ImU32 color = 0;
};
/// A field of the line: where it begins and how wide it is, in pixels of the window.
struct Span {
  float x = 0;
  float width = 0;
};

/// Cut where it is too long; then its tooltip has the full text.
void draw_piece(const PanelContext& context, const Piece& piece, Span span, float line_y,
                bool at_right = false) {
  if (piece.text.empty()) return;
  const std::string shown = plot::fitted(ImGui::GetFont(), piece.text, span.width);
  if (shown.empty()) return;
  const float before = at_right ? span.width - shown_size(shown).x : 0;
  ImGui::SetCursorPos({span.x + before, line_y});
  const TextColorScope color(piece.color);
  show_text(shown);
  controls::record(context, piece.id, piece.label, "text", piece.text, ImGui::GetItemRectMin(),
                   ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered()) {
    controls::tooltip(context, with_whole(shown, piece.text, piece.tooltip));
  }
}

std::string machine_words(const SessionView& view) {
  std::string line;
  const auto add = [&line](const std::string& part) {
    line += (line.empty() ? "" : "  ·  ") + part;
  };
  for (const std::string& part : facts(view)) add(part);
  if (view.run != nullptr) {
    add(fmt::format("{} records, {} dropped", plot::count_text(view.run->activity.records.size()),
                    plot::count_text(static_cast<std::uint64_t>(
                        std::max<std::int64_t>(view.run->result.dropped_records, 0)))));
  }
  return line;
}

/// Of one of the middle's texts, with what keeps it from the next.
float wanted_width(const Theme& theme, const std::string& text) {
  return text.empty() ? 0.0F : shown_size(text).x + theme.px(kGapLarge);
}

/// What shows all of the middle's texts whole.
float middle_width(const PanelContext& context, const std::string& last_error,
                   const Notices::Line& said) {
  const Theme& theme = context.theme;
  return shown_size(machine_words(context.view)).x + wanted_width(theme, said.text) +
         wanted_width(theme, last_error);
}

/// Between the worker's state and its progress: the machine on the left, messages on the right.
/// What was just done and what went wrong get room first: facts can be read at any time.
void draw_middle(const PanelContext& context, const std::string& last_error,
                 const Notices::Line& said, Span span, float line_y) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const float wrong = std::min(wanted_width(theme, last_error), span.width / 3);
  const float beside = span.width - wrong;
  const float most = std::max(beside * 2 / 3, beside - shown_size(machine_words(view)).x);
  const float message = std::min(wanted_width(theme, said.text), most);
  if (view.link.dropped_logs > 0) {
    const std::string dropped = fmt::format("{} worker lines dropped  ·  ", view.link.dropped_logs);
    draw_piece(context,
               {.id = "status.dropped",
                .label = "Lines of the worker that were dropped",
                .text = dropped,
                .tooltip = "The worker writes more than a window can show: the oldest lines that "
                           "nobody had read yet were dropped. Results are never dropped.",
                .color = theme.colors.warn},
               span, line_y);
    const float taken = std::min(shown_size(dropped).x, span.width);
    span = {span.x + taken, span.width - taken};
  }
  draw_piece(context,
             {.id = "status.machine",
              .label = view.from_file ? "The recorded machine" : "The worker's machine",
              .text = machine_words(view),
              .tooltip = view.run == nullptr ? std::string()
                                             : "Records: " + view.run->result.activity_method,
              .color = theme.colors.dim_text},
             {span.x, span.width - wrong - message}, line_y);
  const float gap = theme.px(kGapLarge);
  draw_piece(
      context,
      {.id = "status.says",
       .label = "What was just done",
       .text = said.text,
       .color = said.severity ? severity_color(theme.colors, *said.severity) : theme.colors.accent},
      {span.x + span.width - wrong - message + gap, message - gap}, line_y, true);
  draw_piece(
      context,
      {.id = "status.error", .label = "Last error", .text = last_error, .color = theme.colors.bad},
      {span.x + span.width - wrong + gap, wrong - gap}, line_y, true);
}

// An idle device varies by a watt or two between readings.
constexpr double kPowerStepW = 5;

/// Null = some CUDA backend is available, or the worker offers none at all.
const BackendOffer* refused_gpu(const WorkerHello& hello) {
  const BackendOffer* refused = nullptr;
  for (const BackendOffer& offer : hello.backends) {
    if (!engine::traits_of(offer.kind).device) continue;
    if (offer.available) return nullptr;
    refused = &offer;
  }
  return refused;
}

void add(std::string& line, const std::string& part) {
  if (!line.empty()) line += " · ";
  line += part;
}

DeviceWords words_of(const profiling::PowerSample& sample, const std::string& method) {
  DeviceWords words;
  if (sample.sm_clock_mhz >= 0) add(words.line, fmt::format("{} MHz", sample.sm_clock_mhz));
  if (sample.power_w >= 0) {
    add(words.line,
        fmt::format("{:.0f} W", std::round(sample.power_w / kPowerStepW) * kPowerStepW));
  }
  if (sample.temperature_c >= 0) add(words.line, fmt::format("{} °C", sample.temperature_c));
  if (words.line.empty()) words.line = "clock and power: not reported by the driver";
  const std::string reasons = profiling::clock_reason_names(sample.clock_reasons);
  words.tooltip = fmt::format(
      "SM clock, power and temperature of the device between runs, read twice a second through "
      "NVML while this window is visible, and never during a run.\nPower: {}, to the next {:.0f} "
      "W. Limited by: {}.",
      method, kPowerStepW, reasons.empty() ? "nothing" : reasons);
  return words;
}

}  // namespace

void draw_status_bar(const PanelContext& context, const std::string& last_error, Notices& notices) {
  const Theme& theme = context.theme;
  const SessionView& view = context.view;
  const FontScope font(theme.fonts.label);
  const float side = ImGui::GetTextLineHeight();
  const float line_y = (ImGui::GetWindowHeight() - side) / 2;
  const float start = ImGui::GetCursorPosX();
  const float end = start + ImGui::GetContentRegionAvail().x;
  ImGui::SetCursorPosY(line_y);
  const ImVec2 dot = ImGui::GetCursorScreenPos();
  // A recording speaks for itself; of the worker only what it is doing matters then.
  const bool recording = view.from_file && view.link.state != LinkState::Busy;
  ImGui::GetWindowDrawList()->AddCircleFilled(
      {dot.x + side / 2, dot.y + side / 2}, theme.px(4),
      recording ? theme.colors.accent : state_color(theme.colors, view.link));
  ImGui::Dummy({side, side});
  ImGui::SameLine(0, theme.px(kGapSmall));
  const std::string words = recording ? recorded_words(view) : state_words(view.link);
  show_text(words);
  controls::record(context, "status.worker", "Worker", "text",
                   std::string(link_state_name(view.link.state)), ImGui::GetItemRectMin(),
                   ImGui::GetItemRectMax());
  if (ImGui::IsItemHovered() && recording) {
    controls::tooltip(context, engine::shown_path(view.session_path) +
                                   "\nOn this machine: " + state_words(view.link));
  } else if (ImGui::IsItemHovered() && view.hello) {
    controls::tooltip(context, fmt::format("{} on {}, process {}\n{}", view.hello->program_version,
                                           view.hello->host, view.link.pid, view.hello->tracing));
  }
  const float left =
      start +
      std::max(side + theme.px(kGapSmall + kStateWidth),
               recording ? side + theme.px(kGapSmall + kGapLarge) + shown_size(words).x : 0);
  // From the right: the notices, then what the worker is doing, or how its device is meanwhile.
  const float list = end - theme.px(kNoticesWidth);
  const float doing =
      list - theme.px(kStageWidth + kBarWidth + kCancelWidth + 2 * kGap + kGapLarge);
  const bool busy = view.link.state == LinkState::Busy || !view.link.sending.empty();
  // This is the device of the worker here, which is not related to a recording.
  const DeviceWords device =
      busy || view.from_file ? DeviceWords() : device_words(view.link, view.hello);
  // What the field on the right leaves free is the middle's where that needs it; usually the field
  // stays where it is, whatever the device reports.
  float right = doing;
  const float room = doing - theme.px(kGapLarge) - left;
  if (!busy && middle_width(context, last_error, notices.line()) > room) {
    const float taken = device.line.empty() ? 0 : shown_size(device.line).x + theme.px(kGapLarge);
    right = std::max(doing, list - taken);
  }
  draw_middle(context, last_error, notices.line(), {left, right - theme.px(kGapLarge) - left},
              line_y);
  if (busy) {
    ImGui::SetCursorPosX(doing);
    if (draw_progress(context, view.link, line_y)) context.commands.push_back(Action::Cancel);
  } else if (!device.line.empty()) {
    draw_piece(context,
               {.id = "status.device",
                .label = "The device between runs",
                .text = device.line,
                .tooltip = device.tooltip,
                .color = theme.colors.dim_text},
               {right, list - theme.px(kGapLarge) - right}, line_y);
  }
  ImGui::SetCursorPos({list, (ImGui::GetWindowHeight() - theme.px(kRowHeight)) / 2});
  draw_notice_list(context, notices, theme.px(kNoticesWidth));
}

DeviceWords device_words(const LinkStatus& link, const std::optional<WorkerHello>& hello) {
  if (!hello || link.state == LinkState::Lost || link.state == LinkState::Busy) return {};
  if (const BackendOffer* refused = refused_gpu(*hello)) {
    // What to do about it is in the tooltip: the line has no room for it.
    return {.line = "no GPU: " + refused->reason.substr(0, refused->reason.find(':')),
            .tooltip = "No GPU: " + refused->reason +
                       ".\nRuns use the CPU reference; clock and power are read from NVIDIA "
                       "devices only."};
  }
  if (!link.pulse.reading) return {};
  const profiling::PowerTrace& reading = *link.pulse.reading;
  if (!reading.samples.empty()) return words_of(reading.samples.back(), reading.method);
  return {.line = "no clock or power: " + reading.missing,
          .tooltip = "Clock and power are not known: " + reading.missing};
}

}  // namespace app
