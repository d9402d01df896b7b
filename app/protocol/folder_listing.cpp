#include "app/protocol/folder_listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/model/path_text.h"
#include "engine/model/text.h"

namespace app {
namespace {

namespace fs = std::filesystem;

std::string home_folder() {
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? home : "/";
}

bool fits(const std::string& name, const FolderFilter& filter) {
  return filter.suffixes.empty() ||
         std::ranges::any_of(filter.suffixes,
                             [&](const std::string& suffix) { return name.ends_with(suffix); });
}

}  // namespace

engine::Result<FolderListing> list_folder(const std::string& folder, const FolderFilter& filter,
                                          const std::atomic<bool>* cancel) {
  FolderListing listing{.folder = folder.empty() ? home_folder() : folder, .entries = {}};
  std::error_code error;
  std::size_t looked_at = 0;
  std::size_t bytes = 0;
  for (fs::directory_iterator at(listing.folder, error), end; !error && at != end;
       at.increment(error)) {
    if (cancel != nullptr && *cancel) {
      return engine::Error{engine::ErrorCode::Cancelled, "the listing was cancelled"};
    }
    listing.more = ++looked_at > kMaxLookedAt;
    if (listing.more) break;
    FolderEntry entry;
    entry.name = at->path().filename().string();
    if (entry.name.starts_with(".")) continue;
    std::error_code ignored;
    entry.folder = at->is_directory(ignored);
    if (!entry.folder && !fits(entry.name, filter)) continue;
    bytes += entry.name.size();
    listing.more = listing.entries.size() == kMaxFolderEntries || bytes > kMaxListedBytes;
    if (listing.more) break;
    const std::uintmax_t size = entry.folder ? 0 : at->file_size(ignored);
    if (!ignored) entry.bytes = size;
    listing.entries.push_back(std::move(entry));
  }
  if (error) {
    return engine::Error{engine::ErrorCode::Io,
                         fmt::format("{} cannot be listed: {}", engine::shown_path(listing.folder),
                                     engine::path_error_text(listing.folder, error.value()))};
  }
  std::ranges::sort(listing.entries, [](const FolderEntry& a, const FolderEntry& b) {
    return a.folder != b.folder ? a.folder : a.name < b.name;
  });
  return listing;
}

void keep_sendable(FolderListing& listing) {
  listing.unreadable += std::erase_if(
      listing.entries, [](const FolderEntry& entry) { return !engine::is_clean_text(entry.name); });
}

}  // namespace app
