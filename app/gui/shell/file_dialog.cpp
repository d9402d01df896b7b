// An overlay that Escape closes; it holds no file open and assumes nothing about contents.
#include "app/gui/shell/file_dialog.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/gui/controls/scopes.h"
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/keys.h"
#include "app/gui/theme/text.h"
#include "engine/model/path_text.h"

namespace app {
namespace {

namespace fs = std::filesystem;

// More names than this are not readable as a list; the path can still be typed.
constexpr std::size_t kMaxEntries = 5000;

struct PurposeText {
  const char* title;
  const char* accept;
  std::vector<std::string> suffixes;
  bool writes = false;
};

PurposeText purpose_text(FilePurpose purpose) {
  switch (purpose) {
    case FilePurpose::OpenRecording:
      return {"Open a recording, tensor, routing, request, tour or graph",
              "Open",
              {".session", ".npy", ".safetensors", ".json", ".jsonl", ".log", ".dot", ".gv"}};
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
      return {"Activations from a tensor file", "Use", {".npy", ".safetensors"}};
    case FilePurpose::Weights:
      return {"Weights from a tensor file", "Use", {".npy", ".safetensors"}};
    case FilePurpose::DownWeights:
      return {"Weights of the down projection from a tensor file", "Use", {".npy", ".safetensors"}};
    case FilePurpose::Gradients:
      return {"Gradients from a tensor file", "Use", {".npy", ".safetensors"}};
    case FilePurpose::Routing:
      break;
  }
  return {"Splits or recorded routing from a file", "Use", {".json", ".npy", ".safetensors"}};
}

std::string readable_size(std::uintmax_t bytes) {
  constexpr std::uintmax_t kKibi = 1024;
  if (bytes < kKibi) return fmt::format("{} B", bytes);
  if (bytes < kKibi * kKibi) return fmt::format("{} KiB", bytes / kKibi);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

}  // namespace

FolderListing list_folder(const std::string& folder, const std::vector<std::string>& suffixes) {
  FolderListing listing;
  listing.folder = folder;
  std::error_code error;
  for (fs::directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && listing.entries.size() < kMaxEntries; at.increment(error)) {
    FolderEntry entry;
    entry.name = at->path().filename().string();
    if (entry.name.starts_with(".")) continue;
    std::error_code ignored;
    entry.folder = at->is_directory(ignored);
    if (!entry.folder) {
      const bool wanted = suffixes.empty() || std::any_of(suffixes.begin(), suffixes.end(),
                                                          [&](const std::string& suffix) {
                                                            return entry.name.ends_with(suffix);
                                                          });
      if (!wanted) continue;
      const std::uintmax_t bytes = at->file_size(ignored);
      if (!ignored) entry.bytes = bytes;
    }
    listing.entries.push_back(std::move(entry));
  }
  if (error) listing.error = engine::path_error_text(folder, error.value());
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) {
              return a.folder != b.folder ? a.folder : a.name < b.name;
            });
  return listing;
}

FileDialog::FileDialog(std::function<void()> wake) : listing_task_(std::move(wake)) {}

void FileDialog::open(FilePurpose purpose, const std::string& folder, const std::string& name) {
  purpose_ = purpose;
  name_ = name;
  with_paths_ = false;
  open_ = true;
  accept_ = false;
  focus_ = true;
  std::error_code error;
  go_to(folder.empty() ? fs::current_path(error).string() : folder);
}

void FileDialog::go_to(const std::string& folder) {
  folder_ = fs::path(folder).lexically_normal().string();
  listing_ = {};
  listing_task_.start([folder = folder_, suffixes = purpose_text(purpose_).suffixes] {
    return list_folder(folder, suffixes);
  });
}

std::string FileDialog::chosen_path() const {
  const fs::path name(name_);
  return (name.is_absolute() ? name : fs::path(folder_) / name).lexically_normal().string();
}

void FileDialog::draw_listing(const PanelContext& context, float height) {
  const ChildScope child("##listing", {0, height}, context.theme.colors.window,
                         {context.theme.px(kGap), context.theme.px(kGap)});
  if (!listing_.error.empty()) {
    show_wrapped(listing_.error);
    return;
  }
  if (listing_task_.running()) {
    show_dimmed("Reading the folder");
    return;
  }
  if (listing_.entries.empty()) show_dimmed("No fitting file here");
  std::string enter;
  for (std::size_t i = 0; i < listing_.entries.size(); ++i) {
    const FolderEntry& entry = listing_.entries[i];
    ImGui::PushID(static_cast<int>(i));
    const std::string label = entry.folder ? entry.name + "/" : entry.name;
    if (ImGui::Selectable(label.c_str(), entry.name == name_,
                          ImGuiSelectableFlags_AllowDoubleClick)) {
      if (entry.folder) {
        enter = (fs::path(folder_) / entry.name).string();
      } else {
        name_ = entry.name;
        accept_ = accept_ || ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
      }
    }
    controls::record(context, ("file." + entry.name).c_str(), label.c_str(), "option", entry.name,
                     ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
    if (!entry.folder) {
      const std::string size = readable_size(entry.bytes);
      ImGui::SameLine(ImGui::GetWindowWidth() - context.theme.px(kGapSection + 4) -
                      shown_size(size).x);
      show_dimmed(size);
    }
    ImGui::PopID();
  }
  if (!enter.empty()) go_to(enter);
}

std::optional<FileDialog::Choice> FileDialog::draw(const PanelContext& context) {
  if (!open_) return std::nullopt;
  if (std::optional<FolderListing> listing = listing_task_.take()) listing_ = std::move(*listing);
  const Theme& theme = context.theme;
  const PurposeText text = purpose_text(purpose_);
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size = {std::min(theme.px(640), display.x - theme.px(32)),
                       std::min(theme.px(460), display.y - theme.px(32))};
  const ImVec2 at = {(display.x - size.x) / 2, (display.y - size.y) / 2};
  if (focus_) ImGui::SetNextWindowFocus();
  focus_ = false;
  const OverlayScope overlay("##file_dialog", at, size, theme.colors.panel);
  {
    const FontScope font(theme.fonts.title);
    show_text(text.title);
  }
  if (controls::button(context, "file.up", "Up", {.width = theme.px(48)})) {
    go_to(fs::path(folder_).parent_path().string());
  }
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  show_text(folder_);
  const bool page = purpose_ == FilePurpose::ExportPage;
  const float footer = (page ? 3 : 2) * theme.px(kRowHeight + kGap);
  draw_listing(context, ImGui::GetContentRegionAvail().y - footer);
  ImGui::Dummy({0, theme.px(kGapSmall) / 2});
  controls::input_text(context, "file.path", "File name or path", name_);
  if (ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter))) {
    accept_ = true;
  }
  if (page) {
    controls::checkbox(
        context, "file.with_paths", "With folders and names", with_paths_,
        {.tooltip = "Also folders, and the names of this machine and its user; a page is made to "
                    "be passed on, so they are left out otherwise"});
  }
  const bool named = !name_.empty();
  accept_ =
      controls::button(
          context, "file.accept", text.accept,
          {.enabled = named, .reason = "Choose or type a file first", .width = theme.px(96)}) ||
      accept_;
  ImGui::SameLine();
  if (controls::button(context, "file.cancel", "Cancel", {.width = theme.px(96)})) open_ = false;
  if (!accept_ || !named) return std::nullopt;
  accept_ = false;
  open_ = false;
  return Choice{
      .purpose = purpose_, .path = chosen_path(), .writes = text.writes, .with_paths = with_paths_};
}

}  // namespace app
