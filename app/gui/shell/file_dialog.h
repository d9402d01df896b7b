// Choosing a file: a path that can be typed and a listing of its folder, read off the window's
// thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/gui/controls/panel_context.h"

namespace app {

struct FolderEntry {
  std::string name;
  bool folder = false;
  std::uintmax_t bytes = 0;
};
struct FolderListing {
  std::string folder;
  std::vector<FolderEntry> entries;
  std::string error;
};
/// Folders first, then the files that end with one of `suffixes` (all when empty), by name.
FolderListing list_folder(const std::string& folder, const std::vector<std::string>& suffixes);

class FileDialog {
 public:
  struct Choice {
    FilePurpose purpose;
    std::string path;
    bool writes = false;      // the file; else it is read
    bool with_paths = false;  // of a page: also folders, this machine's name and its user's
  };

  explicit FileDialog(std::function<void()> wake);
  void open(FilePurpose purpose, const std::string& folder, const std::string& name);
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  std::optional<Choice> draw(const PanelContext& context);

 private:
  void go_to(const std::string& folder);
  void draw_listing(const PanelContext& context, float height);
  std::string chosen_path() const;

  BackgroundTask<FolderListing> listing_task_;
  FolderListing listing_;
  FilePurpose purpose_ = FilePurpose::OpenRecording;
  std::string folder_;
  std::string name_;
  bool with_paths_ = false;
  bool open_ = false;
  bool accept_ = false;
  bool focus_ = false;
};

}  // namespace app
