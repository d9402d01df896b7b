// Which controller carries out which command. Everything returns immediately.
#include "app/gui/shell/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "app/controllers/routing_file.h"
#include "app/protocol/liveness.h"
#include "app/protocol/paths.h"
#include "app/protocol/terminal_text.h"
#include "engine/input/value_json.h"
#include "engine/model/projections.h"

namespace app {
namespace {

// The menu closes in the frame after the click, and ImGui fades nothing.
constexpr int kFramesBeforePicture = 2;

Workbench::Options workbench_options(
    const WindowOptions& options, const engine::Result<std::vector<engine::ShapePreset>>& presets) {
  return {.worker = options.worker,
          .machine = options.machine,
          .no_worker = options.no_worker,
          .allowed_libraries = options.allowed_libraries,
          .presets = presets.ok() ? presets.value() : std::vector<engine::ShapePreset>()};
}

bool differs(const LinkStatus& a, const LinkStatus& b) {
  return a.state != b.state || a.reason != b.reason || a.pid != b.pid ||
         !same_progress(a.pulse, b.pulse) || a.cancel_overdue != b.cancel_overdue ||
         a.dropped_logs != b.dropped_logs;
}

}  // namespace

Shell::Shell(const WindowOptions& options, LoadedSettings settings,
             const std::function<void()>& wake)
    : options_(options),
      settings_(std::move(settings.settings)),
      first_start_(settings.first_start),
      workbench_(workbench_options(options, engine::load_presets(assets_folder() + "/shapes")),
                 wake, settings_.files, settings_.machines),
      rail_(workbench_.options.presets),
      dialog_(wake),
      pages_{make_performance_panel(wake), make_numerics_panel(), make_graphs_panel(wake),
             make_compare_panel(wake)} {
  if (!settings.problem.empty()) workbench_.notices.add(Severity::Warn, settings.problem);
  if (workbench_.options.presets.empty()) {
    workbench_.notices.add(Severity::Warn,
                           "No shape presets could be read from " + assets_folder() + "/shapes");
  }
  workbench_.runs.link.automatic = settings_.restart_automatically;
}

/// One that was given wins over the one that the last window was left with; a tour begins alike for
/// everybody.
void Shell::begin_with_request() {
  SessionState& state = workbench_.runs.state;
  const bool guided = !options_.tour_folder.empty();
  const std::string& given = options_.initial_request_json;
  const std::string& left = guided ? std::string() : settings_.request;
  if (!given.empty()) {
    const auto request = engine::request_from_json(given);
    if (request.ok()) {
      return workbench_.begin_with(request.value(), options_.initial_request_file, !guided);
    }
    return workbench_.notices.add(Severity::Bad,
                                  "The request given at the start: " + request.error().message);
  }
  if (!left.empty()) {
    const auto request = engine::request_from_json(left);
    if (request.ok()) {
      return workbench_.continue_with(request.value(), settings_path(), settings_.live);
    }
    workbench_.notices.add(Severity::Warn, settings_path() + ": the request of the last window: " +
                                               request.error().message + "; it is not used");
  }
  if (const engine::ShapePreset* preset = rail_.laptop_preset()) {
    // Small enough that a first look shows real numbers at once, on any machine.
    engine::apply_preset(*preset, state.requested);
    state.live = true;
  }
}

void Shell::begin() {
  const bool guided = !options_.tour_folder.empty();
  begin_with_request();
  // A file that was named is shown where its kind is at home.
  if (!guided && options_.open_file.empty()) show({settings_.page, settings_.view});
  const bool tour_named = guided && is_tour_file(options_.open_file);
  if (guided) {
    workbench_.tours.play_to_pictures(
        tour_named ? options_.open_file : assets_folder() + "/tours/first_steps.json",
        options_.tour_folder);
  } else {
    workbench_.tours.find_shipped();
  }
  workbench_.begin_worker();
  if (options_.machine) machine_dialog_.open(workbench_.machine);
  if (!options_.open_file.empty() && !tour_named) workbench_.open_file(options_.open_file);
  if (begins_with_example() && workbench_.open_example()) show({Page::Numerics, "layer"});
}

/// Who starts the window for the first time, and asks for nothing, sees what a device shows while
/// the worker measures a small step on this machine.
bool Shell::begins_with_example() const {
  return first_start_ && options_.tour_folder.empty() && options_.open_file.empty() &&
         options_.initial_request_json.empty();
}

void Shell::remember() {
  const SessionState& state = workbench_.runs.state;
  // What a tour has put in the rail is not the user's.
  const TourController::Before* before = workbench_.tours.before();
  settings_.request = engine::to_json_text(before ? before->request : state.requested);
  settings_.live = before ? before->live : state.live;
  const Presentation::Before pages = pages_of_user();
  settings_.page = pages.page;
  settings_.view = pages.view();
}

bool Shell::tick() {
  bool changed = workbench_.tick() || picture_.has_value();
  const Closing::Step closing = closing_.tick();
  changed = closing.changed || changed;
  if (closing.close) close(0);
  settings_.restart_automatically = workbench_.runs.link.automatic;
  for (const Command& command : workbench_.take_commands()) carry_out(command);
  if (workbench_.runs.take_greeting()) {
    rail_.forget_files();
    dialog_.ask_again();
  }
  for (FileReport& report : workbench_.runs.take_file_reports()) {
    report.listing ? dialog_.take(std::move(report)) : rail_.file_inspected(report);
  }
  for (const std::unique_ptr<PagePanel>& one : pages_) changed = one->tick() || changed;
  take_end_of_tour();
  changed = std::exchange(draw_again_, false) || changed;
  return status_changed() || changed || strip_.overdue();
}

bool Shell::status_changed() {
  LinkStatus now = workbench_.runs.link.status();
  // The reason of a stall counts seconds; the text on screen need not follow each of them.
  if (now.state == LinkState::Stalled && drawn_status_.state == LinkState::Stalled) {
    drawn_status_.reason = now.reason;
    return false;
  }
  DeviceWords device = device_words(now, workbench_.runs.link.hello());
  const bool changed = differs(now, drawn_status_) || device != drawn_device_;
  drawn_status_ = std::move(now);
  drawn_device_ = std::move(device);
  return changed;
}

void Shell::take_end_of_tour() {
  const auto end = workbench_.tours.take_end();
  if (!end) return;
  if (end->complete) {
    fmt::print("{}\n", end->text);
    std::fflush(stdout);
  } else {
    fmt::print(stderr, "tour: {}\n", terminal_text(end->text));
  }
  exit_code_ = end->complete ? 0 : 1;
}

SessionView Shell::view() const {
  SessionView now = workbench_.view();
  now.recipes = page_ == Page::Numerics && page_of(page_).view() == "recipes";
  now.subject = page_of(page_).subject();
  return now;
}

void Shell::carry_out(const Command& command) {
  RunsController& runs = workbench_.runs;
  FilesController& files = workbench_.files;
  std::visit(Overloaded{
                 [&](Action order) { act(order); },
                 [&](const EditRequest& order) {
                   const bool dragged = ImGui::IsMouseDown(ImGuiMouseButton_Left) ||
                                        ImGui::IsMouseReleased(ImGuiMouseButton_Left);
                   workbench_.edit(order.request, dragged ? gesture_ : 0, order.run);
                 },
                 [&](const ChooseRequest& order) { workbench_.choose(order.request); },
                 [&](const StartWorker& order) { runs.start_worker(order.cublaslt); },
                 [&](const ConnectMachine& order) { workbench_.connect(order.options); },
                 [&](const InspectFile& order) { runs.inspect_file(order.question); },
                 [&](const SelectRun& order) { runs.state.select_run(order.index); },
                 [&](const SelectExpert& order) { runs.state.expert = order.expert; },
                 [&](const SkipThrottled& order) { runs.state.skip_throttled = order.skip; },
                 [&](const NameRun& order) { workbench_.name_run(order.name); },
                 [&](const SetNotes& order) { workbench_.set_notes(order.notes); },
                 [&](const engine::ComparisonRequest& order) { runs.compare(order); },
                 [&](const InspectElements& order) { runs.inspect(order.order); },
                 [&](const VisitOrder& order) {
                   page_ = Page::Graphs;
                   workbench_.examine(order);
                 },
                 [&](const AttachOrder& order) {
                   app::remember(settings_.programs, {order.command, order.working_folder});
                   workbench_.attach_to(order);
                 },
                 [&](const ReadAttachRecord& order) { workbench_.read_attached(order); },
                 [&](const CancelVisit&) { workbench_.doctor.cancel(); },
                 [&](const ShowRecordedCase& order) { workbench_.doctor.show_recorded(order.id); },
                 [&](const SweepOrder& order) { runs.start(order); },
                 [&](const InterleavedOrder& order) { runs.start(order); },
                 [&](const OpenFile& order) { workbench_.open_file(order.path); },
                 [&](const OpenShipped& order) { files.open_recording(order.recording.path()); },
                 [&](const UseRequest& order) { workbench_.use_request(order); },
                 [&](const UseTensor& order) { workbench_.use_tensor(order); },
                 [&](const UseDump& order) { workbench_.use_dump(order); },
                 [&](const AnswerLongRun& order) { runs.answer(order.answer); },
                 [&](const AskPath& order) { ask_path(order.purpose); },
                 [&](const ExportReport& order) {
                   report_ = order.report;
                   ask_path(FilePurpose::ExportReport);
                 },
                 [&](const RecordsOrder& order) {
                   exported_run_ = runs.state.shown();
                   records_order_ = order;
                   ask_path(order.csv ? FilePurpose::ExportRecords : FilePurpose::ExportTrace);
                 },
                 [&](const CsvOrder& order) { files.save_table(order); },
                 [&](const PictureOrder& order) {
                   picture_ = order;
                   picture_frames_ = kFramesBeforePicture;
                 },
                 [&](const CheckRecentFiles&) { files.check_recent(); },
                 [&](const FetchLibrary& order) { workbench_.fetch_library(order.version); },
                 [&](const CancelFetch&) { workbench_.libraries.cancel_fetch(); },
                 [&](const UseLibrary& order) { workbench_.use_library(order.path); },
                 [&](const ShowPage& order) { show(order); },
                 [&](const PresentCard& order) { present_card(order.card); },
                 [&](const Select& order) {
                   for (const auto& one : pages_) one->select(order.selection);
                 },
                 [&](const PressButton& order) { order_button(order); },
                 [&](const PlayTour& order) { workbench_.tours.play(order.path); },
                 [&](const RepeatTourStep&) { workbench_.tours.repeat_step(); },
                 [&](const StatusMessage& order) { workbench_.notices.set_status(order.text); },
             },
             command);
}

void Shell::show(const ShowPage& order) {
  page_ = order.page;
  if (order.view) page().show_view(*order.view);
}

void Shell::order_button(const PressButton& order) {
  const auto is_drawn = [&] {
    return std::ranges::find(controls_.entries(), order.id, &ControlEntry::id) !=
           controls_.entries().end();
  };
  if (!is_drawn()) {
    show(order.page);
    // Another card may fill the page.
    page().close_front();
  }
  constexpr double kSeconds = 3.0;  // until what the page derives from a run is there
  ordered_button_ = {.order = order, .until = ImGui::GetTime() + kSeconds};
  draw_again_ = true;
}

void Shell::follow_ordered_button() {
  const PressButton& order = ordered_button_.order;
  if (order.id.empty()) return;
  const auto drawn = std::ranges::find(controls_.entries(), order.id, &ControlEntry::id);
  if (drawn == controls_.entries().end() && ImGui::GetTime() < ordered_button_.until) {
    draw_again_ = true;
    return;
  }
  if (drawn == controls_.entries().end()) {
    workbench_.notices.set_status(order.otherwise);
  } else if (!drawn->enabled) {
    workbench_.notices.set_status(drawn->reason);
  }
  ordered_button_ = {};
}

void Shell::act(Action action) {
  if (const std::string why = workbench_.refusal(action); !why.empty()) {
    workbench_.notices.set_status(why);
  } else if (!workbench_.act(action)) {
    act_on_window(action);
  } else if (action == Action::BackToLive || action == Action::CloseRecording) {
    leave_empty_page();
  }
}

void Shell::leave_empty_page() {
  const SessionState& state = workbench_.runs.state;
  const SessionState::Run run = state.shown();
  const engine::RunRequest& live = run == nullptr ? state.requested : run->request;
  if (page_ == Page::Numerics && page().view() == "layer" && !engine::is_expert_layer(live)) {
    return show({Page::Numerics, ""});
  }
  const bool graph = live.launch.kind == engine::LaunchKind::GraphReplay;
  if (page_ == Page::Graphs && page().view() != "doctor" && !graph) show({Page::Performance, ""});
}

void Shell::act_on_window(Action action) {
  switch (action) {
    case Action::ChooseMachine:
      help_ = false;
      return machine_dialog_.open(workbench_.machine);
    case Action::AttachToProgram:
      help_ = false;
      return attach_dialog_.open();
    case Action::OpenRecording:
      return ask_path(FilePurpose::OpenRecording);
    case Action::SaveSession:
      return ask_path(FilePurpose::SaveSession);
    case Action::RecordElsewhere:
      return ask_path(FilePurpose::RecordElsewhere);
    case Action::ExportPage:
      return ask_path(FilePurpose::ExportPage);
    case Action::ExportTrace:
    case Action::ExportRecords:
      // The range is that of the timeline, which exports it when it is drawn next.
      page_ = Page::Performance;
      (action == Action::ExportTrace ? ordered_keys_.export_trace : ordered_keys_.export_records) =
          true;
      return;
    case Action::ShowPerformance:
      return show({Page::Performance, {}});
    case Action::ShowNumerics:
      return show({Page::Numerics, {}});
    case Action::ShowGraphs:
      return show({Page::Graphs, {}});
    case Action::ShowCompare:
      return show({Page::Compare, {}});
    case Action::ShowRecipes: {
      const bool shown = page_ == Page::Numerics && page().view() == "recipes";
      return show({Page::Numerics, shown ? "" : "recipes"});
    }
    case Action::Present:
    case Action::PresentNext:
    case Action::PresentPrevious:
    case Action::PresentFirst:
    case Action::PresentLast:
      return present(action);
    case Action::ToggleRail:
      // Nothing would be seen of it.
      if (presenting())
        return workbench_.notices.set_status("Presenting: Esc brings the rail back");
      settings_.rail_hidden = !settings_.rail_hidden;
      return;
    case Action::LargerText:
    case Action::SmallerText: {
      const float step = action == Action::LargerText ? 0.1F : -0.1F;
      settings_.text_scale =
          std::clamp(std::round((settings_.text_scale + step) * 10.0F) / 10.0F, 0.8F, 2.0F);
      return;
    }
    case Action::ToggleTheme:
      settings_.theme = settings_.theme == ThemeKind::Dark ? ThemeKind::Light : ThemeKind::Dark;
      return;
    case Action::Screenshot:
      screenshot_wanted_ = true;
      return;
    case Action::Palette:
      if (palette_.is_open()) return palette_.close();
      // A dialog has the keys: the palette would lie under it and take none.
      if (closing_.question().open || dialog_.is_open() || machine_dialog_.is_open() ||
          attach_dialog_.is_open()) {
        return;
      }
      help_ = false;
      workbench_.files.check_recent();
      return palette_.open();
    case Action::Help:
      help_ = !help_;
      return;
    case Action::Close:
      return close_front();
    case Action::Quit:
      return ask_to_close();
    default:
      return;
  }
}

void Shell::close_front() {
  workbench_.notices.set_status("");
  if (closing_.question().open) {
    answer_close(CloseAnswer::Stay);
  } else if (palette_.is_open()) {
    palette_.close();
  } else if (dialog_.is_open()) {
    dialog_.close();
  } else if (machine_dialog_.is_open()) {
    machine_dialog_.close();
  } else if (attach_dialog_.is_open()) {
    attach_dialog_.close();
  } else if (help_) {
    help_ = false;
  } else if (presenting()) {
    end_presenting();
    page_closed_front_ = true;
  } else if (page().close_front()) {
    page_closed_front_ = true;
  } else {
    workbench_.close_front();
  }
}

void Shell::ask_to_close() {
  if (closing_.ask()) return close(0);
  palette_.close();
  help_ = false;
}

void Shell::ask_path(FilePurpose purpose) {
  const auto dated = [this](const char* stem, const char* suffix) {
    return std::filesystem::path(workbench_.files.dated_path(stem, suffix)).filename().string();
  };
  std::string name;
  switch (purpose) {
    case FilePurpose::SaveSession:
    case FilePurpose::RecordElsewhere:
      name = dated("expertscope", ".session");
      break;
    case FilePurpose::ExportReport:
      name = "graph-doctor.md";
      break;
    case FilePurpose::ExportTrace:
      name = dated("trace", ".json");
      break;
    case FilePurpose::ExportRecords:
      name = dated("records", ".csv");
      break;
    case FilePurpose::ExportPage:
      name = dated("expertscope", ".html");
      break;
    default:
      break;
  }
  dialog_.open(purpose, workbench_.files.folder(), name);
}

void Shell::use_path(const FileDialog::Choice& choice) {
  const auto& [purpose, path, writes, with_paths, dump] = choice;
  FilesController& files = workbench_.files;
  if (writes) {
    files.remember_folder(path);
  } else {
    files.remember_folder_of(path);
  }
  if (!dump.empty()) return workbench_.use_dump({dump});
  switch (purpose) {
    case FilePurpose::OpenSecond:
      return files.open_second(path);
    case FilePurpose::OpenRecording:
      return workbench_.open_file(path);
    case FilePurpose::SaveSession:
      return files.save_session(workbench_.runs.state, path);
    case FilePurpose::RecordElsewhere:
      return files.move_recording(path);
    case FilePurpose::OpenGraph:
      workbench_.open_graph(path);
      return files.remember_file(path);
    case FilePurpose::ExportReport:
      if (report_ != nullptr) files.save_report(std::exchange(report_, nullptr), path);
      return;
    case FilePurpose::ExportTrace:
    case FilePurpose::ExportRecords:
      return files.save_records(std::exchange(exported_run_, nullptr), records_order_, path);
    case FilePurpose::ExportPage:
      return files.save_page(workbench_.runs.state, path, with_paths, page().compared());
    case FilePurpose::Activations:
      return workbench_.use_tensor({path, RequestOperand::X});
    case FilePurpose::Weights:
      return workbench_.use_tensor({path, RequestOperand::W});
    case FilePurpose::DownWeights:
      return workbench_.use_tensor({path, RequestOperand::WDown});
    case FilePurpose::Gradients:
      return workbench_.use_tensor({path, RequestOperand::DY});
    case FilePurpose::Routing: {
      engine::RunRequest request = workbench_.runs.state.requested;
      name_routing_file(request.routing, path);
      return workbench_.edit(request, 0);
    }
  }
}

}  // namespace app
