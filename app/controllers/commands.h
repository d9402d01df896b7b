// Everything that the window can be told to do, by a key, a page, the palette or a tour: one
// variant, carried out between frames by the one visitor in Shell.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/controllers/session_view.h"
#include "app/sweep/interleaved_plan.h"
#include "engine/model/amax_history.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/kernel_durations.h"

namespace app {

/// What needs no further word; the table in gui/shell/keys.h gives each its name and its keys.
enum class Action {
  Run,
  Cancel,
  ReplaceWorker,
  ToggleLive,
  Undo,
  Redo,
  PreviousRun,
  NextRun,
  BackToLive,
  OpenRecording,
  OpenSample,
  SaveSession,
  ExportTrace,
  ExportRecords,
  ToggleRecording,
  RecordElsewhere,
  ShowPerformance,
  ShowNumerics,
  ShowGraphs,
  ShowCompare,
  ShowRecipes,
  ToggleRail,
  LargerText,
  SmallerText,
  ToggleTheme,
  Screenshot,
  Palette,
  Help,
  AllowLibrary,
  RefuseLibrary,
  Close,
  TourPause,
  TourBack,
  TourNext,
  TourStop,
  KeepTour,
  Quit,
};

/// What a path that a person chooses is for.
enum class FilePurpose {
  OpenRecording,
  OpenSecond,  // to compare with
  SaveSession,
  RecordElsewhere,
  OpenGraph,
  ExportReport,
  ExportTrace,
  ExportRecords,
  Activations,
  Weights,
  Gradients,
  Routing
};

/// A change in the rail, or on a page as if there. Changes of one drag are one step of the history.
struct EditRequest {
  engine::RunRequest request;
};
/// All at once, a step of the history of its own; another library starts another worker.
struct ChooseRequest {
  engine::RunRequest request;
};
/// In place of the present worker; empty = the worker's own library.
struct StartWorker {
  std::string cublaslt;
};
/// The worker reads the header of a tensor file.
struct InspectFile {
  std::string path;
};
struct SelectRun {
  std::size_t index = 0;
};
/// Of the run on screen; -1 = none.
struct SelectExpert {
  int expert = -1;
};
/// In place of the notes of the run on screen.
struct SetNotes {
  std::vector<profiling::TimeNote> notes;
};

/// A recording, a captured graph, a tensor or a tour, by its ending.
struct OpenFile {
  std::string path;
};
/// Its values are those of X from now on.
struct UseTensor {
  std::string path;
};
/// Asks the person for a path.
struct AskPath {
  FilePurpose purpose = FilePurpose::OpenRecording;
};
/// Asks where to.
struct ExportReport {
  DoctorState::Report report;
};
/// Records of the run on screen as a file; asks where to.
struct RecordsOrder {
  bool csv = false;                             // else a Chrome trace
  std::optional<profiling::TimeRange> range{};  // since the first timed iteration; none = all
};
struct CsvOrder {
  std::string stem;  // of the file's name: "performance-kernels"
  std::string text;
};
/// A part of the window as a PNG, without what lies over it.
struct PictureOrder {
  std::string stem;            // "performance-timeline"
  std::array<float, 2> min{};  // window pixels
  std::array<float, 2> max{};
};
/// A list of recent files is about to be shown: are they still there?
struct CheckRecentFiles {};

struct FetchLibrary {
  std::string version;
};
struct CancelFetch {};
/// The worker starts again with this library, which the person has chosen.
struct UseLibrary {
  std::string path;
};
struct CancelVisit {};

struct ShowPage {
  Page page = Page::Performance;
  std::optional<std::string> view{};  // empty = its first; none = the one that it showed last
};
/// On the page on screen.
struct Select {
  Selection selection;
};
struct PlayTour {
  std::string path;
};
/// The tour's step, which waited for an answer about a library.
struct RepeatTourStep {};
/// For the status bar: what was just done, or why it could not be.
struct StatusMessage {
  std::string text;
};

using Command =
    std::variant<Action, EditRequest, ChooseRequest, StartWorker, InspectFile, SelectRun,
                 SelectExpert, SetNotes, engine::ComparisonRequest, engine::AmaxHistoryRequest,
                 VisitOrder, CancelVisit, SweepOrder, InterleavedOrder, OpenFile, UseTensor,
                 AskPath, ExportReport, RecordsOrder, CsvOrder, PictureOrder, CheckRecentFiles,
                 FetchLibrary, CancelFetch, UseLibrary, ShowPage, Select, PlayTour, RepeatTourStep,
                 StatusMessage>;

/// For std::visit: the call operators of all of them.
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

}  // namespace app
