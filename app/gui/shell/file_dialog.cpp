// An overlay that Escape closes; it holds no file open and assumes nothing about contents.
#include "app/gui/shell/file_dialog.h"

#include <fmt/format.h>
#include <imgui.h>
// After imgui.h.
#include <imgui_internal.h>  // ends a field's editing

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/keys.h"
#include "app/gui/theme/fitted_lines.h"
#include "app/gui/theme/text.h"
#include "app/remote/sent_files.h"
#include "engine/model/text.h"

namespace app {
namespace {

namespace fs = std::filesystem;

struct PurposeText {
  const char* title;
  const char* accept;
  std::vector<std::string> suffixes;
  bool writes = false;
};

PurposeText purpose_text(FilePurpose purpose) {
  switch (purpose) {
    case FilePurpose::OpenRecording:
      return {
          "Open a recording, tensor, routing, request, tour or graph",
          "Open",
          {".session", ".npy", ".npz", ".safetensors", ".json", ".jsonl", ".log", ".dot", ".gv"}};
    case FilePurpose::OpenSecond:
      return {"Open a recording to compare with", "Open", {".session"}};
    case FilePurpose::SaveSession:
      return {"Save the session as", "Save", {".session"}, true};
    case FilePurpose::RecordElsewhere:
      return {"Continue recording in another file", "Record", {".session"}, true};
    case FilePurpose::OpenGraph:
      return {"Open a captured graph", "Open", {".dot", ".gv", ".session"}};
    case FilePurpose::ExportReport:
      return {"Save the report as .md or .json", "Save", {".md", ".json"}, true};
    case FilePurpose::ExportTrace:
      return {"Export records as a Chrome trace", "Export", {".json"}, true};
    case FilePurpose::ExportRecords:
      return {"Export records as CSV", "Export", {".csv"}, true};
    case FilePurpose::ExportPage:
      return {kExportPageTitle, "Export", {".html"}, true};
    case FilePurpose::Activations:
      return {"Activations from a tensor file", "Use", {".npy", ".npz", ".safetensors"}};
    case FilePurpose::Weights:
      return {"Weights from a tensor file", "Use", {".npy", ".npz", ".safetensors"}};
    case FilePurpose::DownWeights:
      return {"Weights of the down projection from a tensor file",
              "Use",
              {".npy", ".npz", ".safetensors"}};
    case FilePurpose::Gradients:
      return {"Gradients from a tensor file", "Use", {".npy", ".npz", ".safetensors"}};
    case FilePurpose::Routing:
      break;
  }
  return {
      "Splits or recorded routing from a file", "Use", {".json", ".npy", ".npz", ".safetensors"}};
}

/// Files of the worker's machine can be chosen, too: the worker reads tensors and routing there,
/// and what the window reads is copied here.
bool may_be_there(FilePurpose purpose) {
  switch (purpose) {
    case FilePurpose::OpenRecording:
    case FilePurpose::Activations:
    case FilePurpose::Weights:
    case FilePurpose::DownWeights:
    case FilePurpose::Gradients:
    case FilePurpose::Routing:
      return true;
    default:
      return false;
  }
}

/// A name as one line: it may hold whatever a file system allows.
std::string one_line(const std::string& name) {
  std::string line;
  for (const char c : engine::shown_text(name)) {
    line += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  }
  return line;
}

bool dialog_key(ImGuiKey key, bool repeat = false) {
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key), repeat);
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string readable_size(std::uintmax_t bytes) {
  constexpr std::uintmax_t kKibi = 1024;
  if (bytes < kKibi) return fmt::format("{} B", bytes);
  if (bytes < kKibi * kKibi) return fmt::format("{} KiB", bytes / kKibi);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

}  // namespace

std::vector<std::size_t> entries_named(const std::vector<FolderEntry>& entries,
                                       const std::string& typed) {
  const std::string wanted = lower_case(typed);
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) names.push_back(lower_case(entry.name));
  const auto holds = [&](std::size_t i) { return names[i].find(wanted) != std::string::npos; };
  const auto begins = [&](std::size_t i) { return names[i].starts_with(wanted); };
  const auto same = [&](std::size_t i) { return names[i] == wanted; };
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (holds(i)) found.push_back(i);
  }
  const auto rest = std::stable_partition(found.begin(), found.end(), same);
  std::stable_partition(rest, found.end(), begins);
  return found;
}

FileDialog::FileDialog(std::function<void()> wake) : listing_task_(std::move(wake)) {}

void FileDialog::open(FilePurpose purpose, const std::string& folder, const std::string& name) {
  purpose_ = purpose;
  writes_ = purpose_text(purpose).writes;
  with_paths_ = false;
  open_ = true;
  chosen_.clear();
  std::error_code error;
  here_ = folder.empty() ? fs::current_path(error).string() : folder;
  if (!may_be_there(purpose)) machine_.clear();
  go_to(machine_.empty() ? here_ : there_);
  name_ = name;
}

void FileDialog::browse(const std::string& machine) {
  if (machine == machine_) return;
  (machine_.empty() ? here_ : there_) = folder_;
  machine_ = machine;
  go_to(machine.empty() ? here_ : there_);
}

void FileDialog::follow(const PanelContext& context) {
  if (context.view.host != connected_) {
    there_.clear();
    connected_ = context.view.host;
    if (!machine_.empty()) {
      machine_.clear();
      go_to(here_);
    }
  }
  if (std::exchange(sends_, false)) context.commands.push_back(InspectFile{*asked_});
}

std::string FileDialog::named(const std::string& path) const {
  return machine_.empty() ? path : machine_ + ":" + path;
}

void FileDialog::go_to(const std::string& folder) {
  folder_ = fs::path(folder).lexically_normal().string();
  listing_ = {};
  error_.clear();
  dump_.clear();
  shown_.clear();
  selected_ = -1;
  // The name of the file to be written is the same in every folder.
  if (!writes_) name_.clear();
  typed_ = false;
  focus_ = true;
  resolving_.clear();
  list(folder_);
}

void FileDialog::list(const std::string& folder) {
  asked_.reset();
  listing_task_.drop();
  sends_ = !machine_.empty();
  if (sends_) {
    asked_ = FileQuestion{.path = folder, .folder = FolderFilter{purpose_text(purpose_).suffixes}};
    return;
  }
  listing_task_.start([folder, filter = FolderFilter{purpose_text(purpose_).suffixes}] {
    return list_folder(folder, filter);
  });
}

void FileDialog::go_up() {
  fs::path folder(folder_);
  if (!folder.has_filename()) folder = folder.parent_path();  // it ends with a slash
  go_to(folder.parent_path().string());
}

void FileDialog::take(FileReport&& report) {
  if (!asked_ || report.path != asked_->path || !report.listing) return;
  asked_.reset();
  if (!report.error.empty()) return take(engine::Error{engine::ErrorCode::Io, report.error});
  take(*std::move(report.listing));
}

void FileDialog::take(engine::Result<FolderListing> listing) {
  const std::string path = std::exchange(resolving_, std::string());
  if (!path.empty()) {
    // Whoever opens the file says what is wrong with it.
    if (!listing.ok()) return choose(path);
    name_.clear();
    typed_ = false;
    focus_ = true;
  }
  error_ = listing.ok() ? "" : listing.error().message;
  listing_ = listing.ok() ? std::move(listing).value() : FolderListing();
  if (listing_.folder.empty()) {
    dump_.clear();
  } else {
    folder_ = listing_.folder;
    std::vector<std::string> names;
    for (const FolderEntry& entry : listing_.entries) {
      if (!entry.folder) names.push_back(entry.name);
    }
    dump_ = dump_of_folder(named(folder_), names);
  }
  filter();
}

void FileDialog::filter() {
  // A path leads elsewhere, and a file to be written has a name of its own.
  const bool finds = typed_ && !writes_ && name_.find('/') == std::string::npos;
  shown_ = entries_named(listing_.entries, finds ? name_ : "");
  selected_ = finds && !shown_.empty() ? 0 : -1;
  scroll_ = finds;
}

std::string FileDialog::typed_path() const {
  const fs::path name(name_);
  return (name.is_absolute() ? name : fs::path(folder_) / name).lexically_normal().string();
}

const FolderEntry* FileDialog::target() const {
  if (selected_ < 0 || selected_ >= static_cast<int>(shown_.size())) return nullptr;
  return &listing_.entries[shown_[static_cast<std::size_t>(selected_)]];
}

void FileDialog::accept() {
  if (const FolderEntry* entry = target()) {
    const std::string path = (fs::path(folder_) / entry->name).string();
    return entry->folder ? go_to(path) : choose(path);
  }
  if (name_.empty()) return;
  if (writes_) return choose(typed_path());
  const std::optional<std::string> there =
      may_be_there(purpose_) ? path_on(connected_, name_) : std::nullopt;
  if (there) {
    if (machine_.empty()) here_ = folder_;
    machine_ = connected_;
  }
  resolving_ = there ? fs::path(*there).lexically_normal().string() : typed_path();
  list(resolving_);
}

void FileDialog::move(int steps) {
  const int count = static_cast<int>(shown_.size());
  if (count == 0) return;
  selected_ = selected_ < 0 && steps < 0 ? count - 1 : std::clamp(selected_ + steps, 0, count - 1);
  scroll_ = true;
}

void FileDialog::use_keys() {
  constexpr int kPage = 8;
  const bool above = ImGui::GetIO().KeyAlt && dialog_key(ImGuiKey_UpArrow);
  // A key that is held to clear the field does not also leave the folder.
  if (above || (name_.empty() && dialog_key(ImGuiKey_Backspace))) {
    // An active field would bring its text back.
    ImGui::ClearActiveID();
    return go_up();
  }
  if (dialog_key(ImGuiKey_DownArrow, true)) move(1);
  if (dialog_key(ImGuiKey_UpArrow, true)) move(-1);
  if (dialog_key(ImGuiKey_PageDown, true)) move(kPage);
  if (dialog_key(ImGuiKey_PageUp, true)) move(-kPage);
}

void FileDialog::draw_entry(const PanelContext& context, std::size_t index) {
  const std::size_t at = shown_[index];
  const FolderEntry& entry = listing_.entries[at];
  const bool selected = static_cast<int>(index) == selected_;
  ImGui::PushID(static_cast<int>(at));
  const std::string label = one_line(entry.name) + (entry.folder ? "/" : "");
  // The name is drawn and never parsed: "##" would end a label.
  const bool clicked =
      ImGui::Selectable("##entry", selected, ImGuiSelectableFlags_AllowDoubleClick);
  if (selected && std::exchange(scroll_, false)) ImGui::SetScrollHereY();
  controls::record(context, ("file." + entry.name).c_str(), label.c_str(), "option", entry.name,
                   ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
  const std::string size = entry.folder ? "" : readable_size(entry.bytes);
  const float end =
      ImGui::GetWindowWidth() - context.theme.px(kGapSection + 4) - shown_size(size).x;
  const ImVec2 at_name = ImGui::GetItemRectMin();
  const float room = ImGui::GetWindowPos().x + end - context.theme.px(kGap) - at_name.x;
  const std::string shown = fitted_middle(ImGui::GetFont(), label, room);
  draw_shown(ImGui::GetWindowDrawList(), ImGui::GetFont(),
             {at_name.x + ImGui::GetStyle().ItemSpacing.x / 2,
              at_name.y + ImGui::GetStyle().ItemSpacing.y / 2},
             ImGui::GetColorU32(ImGuiCol_Text), shown);
  if (ImGui::IsItemHovered()) controls::tooltip(context, with_whole(shown, label));
  if (!entry.folder) {
    ImGui::SameLine(end);
    show_dimmed(size);
  }
  ImGui::PopID();
  if (!clicked) return;
  selected_ = static_cast<int>(index);
  if (entry.folder) return accept();
  name_ = entry.name;
  typed_ = false;
  focus_ = true;
  if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) accept();
}

void FileDialog::draw_listing(const PanelContext& context, float height) {
  const ChildScope child("##listing", {0, height}, context.theme.colors.window,
                         {context.theme.px(kGap), context.theme.px(kGap)});
  const bool lost = !machine_.empty() && context.view.link.state == LinkState::Lost;
  const std::string error =
      lost && asked_ ? fmt::format("{} lists nothing: its worker is lost", machine_) : error_;
  controls::record(context, "file.error", "Why there is no list", "text", error,
                   ImGui::GetWindowPos(), ImGui::GetWindowPos());
  if (!error.empty()) return show_wrapped(error);
  if (listing()) return show_dimmed("Reading the folder");
  if (shown_.empty()) {
    show_dimmed(listing_.entries.empty() ? "No fitting file here" : "No name here holds this text");
  }
  const std::string folder = folder_;
  // A folder that is entered meanwhile has another list.
  for (std::size_t i = 0; i < shown_.size() && folder == folder_; ++i) draw_entry(context, i);
  if (folder != folder_) return;
  if (listing_.more) {
    show_dimmed("This folder holds more than is listed; the path of another file can be typed");
  }
  if (listing_.unreadable > 0) {
    show_dimmed(fmt::format("Names that are no UTF-8, which cannot be sent, are left out: {}",
                            listing_.unreadable));
  }
}

void FileDialog::draw_machines(const PanelContext& context) {
  if (connected_.empty() || !may_be_there(purpose_)) return;
  bool there = !machine_.empty();
  if (controls::either(context, "browsed", there, "This machine", connected_.c_str(),
                       {.tooltip = "A file of this machine is sent there once; one that is there "
                                   "already is read in place"})) {
    browse(there ? connected_ : "");
  }
}

void FileDialog::draw_field(const PanelContext& context) {
  if (std::exchange(focus_, false)) ImGui::SetKeyboardFocusHere();
  const std::string before = name_;
  controls::input_text(
      context, "file.path", "File name or path", name_,
      {.tooltip = writes_ ? ""
                          : "Letters find names; arrows select; Enter enters a folder or "
                            "takes a file; Backspace goes up"});
  if (name_ == before) return;
  typed_ = !name_.empty();
  filter();
}

std::optional<FileDialog::Choice> FileDialog::draw(const PanelContext& context) {
  if (!open_) return std::nullopt;
  follow(context);
  if (auto listing = listing_task_.take()) take(*std::move(listing));
  const Theme& theme = context.theme;
  const PurposeText text = purpose_text(purpose_);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size = {std::min(theme.px(640), display.x - theme.px(32)),
                       std::min(theme.px(460), display.y - theme.px(32))};
  const ImVec2 at = {(display.x - size.x) / 2, (display.y - size.y) / 2};
  if (focus_) ImGui::SetNextWindowFocus();
  const OverlayScope overlay("##file_dialog", at, size, theme.colors.panel);
  const bool in_front = ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows);
  // The field would only give its old text back.
  if (in_front && dialog_key(ImGuiKey_Escape)) {
    open_ = false;
    return std::nullopt;
  }
  if (in_front) use_keys();
  {
    const FontScope font(theme.fonts.title);
    show_text(machine_.empty() ? std::string(text.title)
                               : fmt::format("{}, of {}", text.title, machine_));
  }
  draw_machines(context);
  if (controls::button(
          context, "file.up", "Up",
          {.tooltip = "Backspace in the empty field, or Alt+Up", .width = theme.px(48)})) {
    go_up();
  }
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  show_text(one_line(folder_));
  controls::record(context, "file.folder", "Folder", "text", folder_, ImGui::GetItemRectMin(),
                   ImGui::GetItemRectMax());
  const bool page = purpose_ == FilePurpose::ExportPage;
  const float footer = (page ? 3 : 2) * theme.px(kRowHeight + kGap);
  draw_listing(context, ImGui::GetContentRegionAvail().y - footer);
  ImGui::Dummy({0, theme.px(kGapSmall) / 2});
  draw_field(context);
  if (page) {
    controls::checkbox(
        context, "file.with_paths", "With folders and names", with_paths_,
        {.tooltip = "Also folders, and the names of this machine and its user; a page is made to "
                    "be passed on, so they are left out otherwise"});
  }
  const FolderEntry* entry = target();
  controls::record(context, "file.selected", "Selected", "text",
                   entry == nullptr ? "" : entry->name, at, {at.x + size.x, at.y + size.y});
  const bool named = entry != nullptr || !name_.empty();
  const bool enter = in_front && (dialog_key(ImGuiKey_Enter) || dialog_key(ImGuiKey_KeyPadEnter));
  if (enter) focus_ = true;  // it takes the caret out of the field
  if (controls::button(
          context, "file.accept", entry != nullptr && entry->folder ? "Enter" : text.accept,
          {.enabled = named, .reason = "Choose or type a file first", .width = theme.px(96)}) ||
      enter) {
    accept();
  }
  ImGui::SameLine();
  if (controls::button(context, "file.cancel", "Cancel", {.width = theme.px(96)})) open_ = false;
  std::vector<DumpPart> dump;
  if (may_be_there(purpose_) && !dump_.empty()) {
    ImGui::SameLine();
    const std::string label = "Use all: " + dump_words(dump_);
    if (controls::button(context, "file.use_all", label.c_str(),
                         {.tooltip = "Every operand and the routing come from the files of this "
                                     "folder that are named like this"})) {
      dump = dump_;
      chosen_ = dump.front().path;
    }
  }
  if (chosen_.empty() || !open_) return std::nullopt;
  open_ = false;
  return Choice{.purpose = purpose_,
                .path = std::exchange(chosen_, std::string()),
                .writes = text.writes,
                .with_paths = with_paths_,
                .dump = std::move(dump)};
}

}  // namespace app
