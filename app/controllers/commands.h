// Every command that a key, a page, the palette or a tour can give to the window: one variant,
// handled between frames by a visitor in Shell.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/controllers/dump.h"
#include "app/controllers/request_operand.h"
#include "app/controllers/run_estimate.h"
#include "app/controllers/session_view.h"
#include "app/protocol/shipped_recordings.h"
#include "app/remote/deployment.h"
#include "app/sweep/plan.h"
#include "engine/input/tensor_source.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "profiling/session/session_file.h"
#include "profiling/trace/statistics.h"

namespace app {

/// Commands without arguments; the table in gui/shell/keys.h gives each its name and its keys.
enum class Action {
  Run,
  Cancel,
  ReplaceWorker,
  ChooseMachine,
  ConnectAgain,
  CancelConnecting,
  UseThisMachine,
  AttachToProgram,
  StopWatching,
  EndProgram,
  ToggleLive,
  Undo,
  Redo,
  PreviousRun,
  NextRun,
  BackToLive,
  UseRecordedRequest,
  CloseRecording,
  OpenRecording,
  OpenExample,
  SaveSession,
  ExportTrace,
  ExportRecords,
  ExportPage,
  ToggleRecording,
  RecordElsewhere,
  ShowPerformance,
  ShowNumerics,
  ShowGraphs,
  ShowCompare,
  ShowRecipes,
  ToggleRail,
  Present,
  PresentNext,
  PresentPrevious,
  PresentFirst,
  PresentLast,
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

/// What a path chosen in the file dialog is for.
enum class FilePurpose {
  OpenRecording,
  OpenSecond,  // to compare with
  SaveSession,
  RecordElsewhere,
  OpenGraph,
  ExportReport,
  ExportTrace,
  ExportRecords,
  ExportPage,
  Activations,
  Weights,
  DownWeights,
  Gradients,
  Routing
};

/// A change in the rail, or on a page as if made in the rail. The changes of one drag are one undo
/// step.
struct EditRequest {
  engine::RunRequest request;
  bool run = false;  // also where Live is off; one order, where an Action::Run would be a second
};
/// Replaces the request in one undo step; a different library restarts the worker.
struct ChooseRequest {
  engine::RunRequest request;
};
/// Replaces the current worker; empty = the worker's default library.
struct StartWorker {
  std::string cublaslt;
};
/// Runs happen on this machine, once it is connected.
struct ConnectMachine {
  ConnectOptions options;
};
/// Asks the worker what a file holds.
struct InspectFile {
  FileQuestion question;
};
struct SelectRun {
  std::size_t index = 0;
};
/// In the run on screen; -1 = none.
struct SelectExpert {
  int expert = -1;
};
/// Whether a step's numbers skip throttled iterations.
struct SkipThrottled {
  bool skip = false;
};
/// Names the run on screen; empty = it is named by its settings.
struct NameRun {
  std::string name;
};
/// Replaces the notes of the run on screen.
struct SetNotes {
  std::vector<profiling::TimeNote> notes;
};

/// A recording, a captured graph, a tensor, a tour, a request or splits, by its suffix and content.
struct OpenFile {
  std::string path;
};
/// One of the recordings that ship with the program; the page stays, if the recording has runs.
struct OpenShipped {
  ShippedRecording recording = kExampleRecording;
};
/// The request of a file becomes that of the rail; undo brings the old one back.
struct UseRequest {
  engine::RunRequest request;
  std::string file;
};

/// An operand takes its values from this file, and the step its sizes.
struct UseTensor {
  std::string path;
  RequestOperand operand = RequestOperand::X;
  /// The file was opened, not chosen for this operand: a recording of routing becomes the routing.
  bool opened = false;
};
/// Every operand and the routing come from these tensors, and the step its sizes.
struct UseDump {
  std::vector<DumpPart> parts;
};
/// To the question about a run that takes long.
struct AnswerLongRun {
  LongRunAnswer answer = LongRunAnswer::Drop;
};
/// Asks the user for a path.
struct AskPath {
  FilePurpose purpose = FilePurpose::OpenRecording;
};
/// Asks for the path.
struct ExportReport {
  DoctorState::Report report;
};
/// Records of the run on screen as a file; asks for the path.
struct RecordsOrder {
  bool csv = false;                             // else a Chrome trace
  std::optional<profiling::TimeRange> range{};  // since the first timed iteration; none = all
};
struct CsvOrder {
  std::string stem;  // of the file's name: "performance-kernels"
  std::string text;
};
/// A card as a PNG of twice its size, with a caption.
struct PictureOrder {
  std::string stem;    // of the file's name: "performance-timeline"
  std::string card;    // its id
  float width = 0.0F;  // as it is on screen, in window pixels
  float height = 0.0F;
};
/// A list of recent files is about to be shown: checks which still exist.
struct CheckRecentFiles {};

struct FetchLibrary {
  std::string version;
};
struct CancelFetch {};
/// Restarts the worker with this library, which the user chose.
struct UseLibrary {
  std::string path;
};
struct CancelVisit {};
/// Starts a program with the preloaded library, and watches its graphs.
struct AttachOrder {
  std::string command;           // as typed in a terminal; no shell runs it
  std::string working_folder{};  // empty = the window's
  std::string only{};            // only processes with this word on their command line; empty = all
  std::optional<int> rank{};     // only the process whose RANK is this
  double hang_after = 0;         // seconds, HangOptions::after_seconds
  bool core_dump = false;        // of the device, when it hangs; only where the window runs
  bool compare_memory = false;   // before and after replays
  bool markers = false;          // graphs show how far a replay gets
};
/// Examines what an earlier program left behind.
struct ReadAttachRecord {
  std::string folder;
};
/// A recorded visit to a case of the gallery, on the Graphs page.
struct ShowRecordedCase {
  std::string id;
};

struct ShowPage {
  Page page = Page::Performance;
  std::optional<std::string> view{};  // empty = its first; nullopt = as it was
};
/// Chooses the card on screen, or no longer, for what is presented.
struct PresentCard {
  std::string card;
};
/// On all pages, each of which takes its part; what the selection leaves out is no longer selected.
struct Select {
  Selection selection;
};
/// The button with this id acts as if pressed, as soon as its page shows it.
struct PressButton {
  std::string id;
  ShowPage page{};
  std::string otherwise{};  // said if the page does not show it
};
struct PlayTour {
  std::string path;
};
/// The tour's step that waited for an answer about a library.
struct RepeatTourStep {};
/// Elements of the run on screen, which stays there: a recording too.
struct InspectElements {
  engine::ComparisonRequest order;
};
/// For the status bar: what was done, or why it was not possible.
struct StatusMessage {
  std::string text;
};

using Command =
    std::variant<Action, EditRequest, ChooseRequest, StartWorker, ConnectMachine, InspectFile,
                 SelectRun, SelectExpert, SkipThrottled, NameRun, SetNotes,
                 engine::ComparisonRequest, InspectElements, VisitOrder, CancelVisit, AttachOrder,
                 ReadAttachRecord, ShowRecordedCase, SweepOrder, InterleavedOrder, OpenFile,
                 OpenShipped, UseRequest, UseTensor, UseDump, AnswerLongRun, AskPath, ExportReport,
                 RecordsOrder, CsvOrder, PictureOrder, CheckRecentFiles, FetchLibrary, CancelFetch,
                 UseLibrary, ShowPage, PresentCard, Select, PressButton, PlayTour, RepeatTourStep,
                 StatusMessage>;

/// For std::visit: combines the call operators of lambdas.
template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

// Clang before 17 does not deduce the arguments of an aggregate.
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace app
