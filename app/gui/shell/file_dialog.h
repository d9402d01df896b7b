// Choosing a file with the keyboard or the mouse: one field, which keeps the caret, and a listing
// of a folder below it, read off the window's thread. Letters find names, arrows select, Enter
// enters a folder or takes a file, Backspace in the empty field goes up. What the worker reads may
// also be a file of its machine, whose folders the worker lists; such a file is "HOST:/path".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/controllers/dump.h"
#include "app/gui/controls/panel_context.h"
#include "app/protocol/folder_listing.h"
#include "app/protocol/worker_link.h"

namespace app {

/// Indices of the entries whose names hold what was typed, in upper or lower case; those that begin
/// with it come first, and the very name before them.
std::vector<std::size_t> entries_named(const std::vector<FolderEntry>& entries,
                                       const std::string& typed);

class FileDialog {
 public:
  struct Choice {
    FilePurpose purpose;
    std::string path;
    bool writes = false;           // the file; else it is read
    bool with_paths = false;       // of a page: also folders, this machine's name and its user's
    std::vector<DumpPart> dump{};  // the files of a folder that are used together
  };

  explicit FileDialog(std::function<void()> wake);
  void open(FilePurpose purpose, const std::string& folder, const std::string& name);
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  std::optional<Choice> draw(const PanelContext& context);
  /// Takes what the worker lists, if it answers the newest question.
  void take(FileReport&& report);
  /// A worker has greeted: what an earlier one was asked is asked again.
  void ask_again() { sends_ = asked_.has_value(); }

 private:
  void go_to(const std::string& folder);
  void go_up();
  /// Lists this folder of the machine that is browsed; until then the last one stays in place.
  void list(const std::string& folder);
  bool listing() const { return listing_task_.running() || asked_; }
  void take(engine::Result<FolderListing> listing);
  /// Browses the machine of this name; empty = this one.
  void browse(const std::string& machine);
  /// Follows the worker to another machine, and sends it what it is to list.
  void follow(const PanelContext& context);
  /// The path as this window names it.
  std::string named(const std::string& path) const;
  void choose(const std::string& path) { chosen_ = named(path); }
  void filter();
  /// Moves the selection, enters a folder or goes up, as the keys of this frame say.
  void use_keys();
  void move(int steps);
  /// The selected entry, if it is what Enter would take; null = the text of the field is.
  const FolderEntry* target() const;
  /// Enter and the button: enters a folder, or takes a file. A path that was typed may be either,
  /// which a thread finds out.
  void accept();
  void draw_machines(const PanelContext& context);
  void draw_listing(const PanelContext& context, float height);
  void draw_entry(const PanelContext& context, std::size_t index);
  void draw_field(const PanelContext& context);
  std::string typed_path() const;

  BackgroundTask<engine::Result<FolderListing>> listing_task_;
  std::string connected_;  // the other machine that the worker runs on; empty = none
  std::string machine_;    // that is browsed; empty = this one
  std::string here_;       // the folder of this machine when the other one is browsed
  std::string there_;      // the folder of the other when this one is; empty = its user's home
  std::optional<FileQuestion> asked_;  // the worker, and not answered yet
  bool sends_ = false;                 // it, in the next frame
  FolderListing listing_;
  std::string error_;               // why there is no listing
  std::vector<DumpPart> dump_;      // of the listing, where its files are one
  std::vector<std::size_t> shown_;  // entries that fit what was typed
  int selected_ = -1;               // of them; -1 = none
  FilePurpose purpose_ = FilePurpose::OpenRecording;
  bool writes_ = false;
  std::string folder_;
  std::string name_;       // the text of the field
  bool typed_ = false;     // by hand: it chooses what the list shows
  std::string resolving_;  // a typed path that is being looked at; empty = none
  std::string chosen_;     // ends the dialog
  bool with_paths_ = false;
  bool open_ = false;
  bool focus_ = false;   // the field takes the caret in the next frame
  bool scroll_ = false;  // to the selected entry
};

}  // namespace app
