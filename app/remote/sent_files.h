// Input files of this machine on another one: each is sent once, is kept there under the SHA-256 of
// its contents, and is read there by its place in the cache. A file that is there already is named
// as scp names it, "HOST:/path".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/protocol/orders.h"
#include "app/remote/ssh_connection.h"
#include "engine/model/error.h"
#include "engine/model/paths.h"

namespace app {

/// "/path" of "HOST:/path"; empty = the path is of this machine.
std::optional<std::string> path_on(std::string_view host, std::string_view path);

/// Not thread-safe.
class SentFiles {
 public:
  struct Callbacks {
    /// "Sending x.npy, 1.2 GiB" and the share that is sent; negative = not known.
    std::function<void(const std::string&, double)> progress;
    std::function<bool()> stop;
  };

  SentFiles(std::shared_ptr<const SshConnection> ssh, std::string cache)
      : ssh_(std::move(ssh)), cache_(std::move(cache)) {}

  /// Where that machine finds the file that this path names; sends it if it must. NotFound names
  /// the path and how a file of that machine is named.
  engine::Result<std::string> place(const std::string& path, const Callbacks& callbacks);

  /// Every input file of the record, by its place there.
  template <engine::Described T>
  engine::Status place_all(T& record, const Callbacks& callbacks) {
    engine::Status status;
    engine::for_each_input_file(engine::kType<T>, &record, [&](std::string& path) {
      if (path.empty() || !status.ok()) return;
      engine::Result<std::string> there = place(path, callbacks);
      if (there.ok()) {
        path = std::move(there).value();
      } else {
        status = there.error();
      }
    });
    return status;
  }
  engine::Status place_all(Task& task, const Callbacks& callbacks) {
    return std::visit([&](auto& order) { return place_all(order, callbacks); }, task);
  }

  /// The reverse, for what comes back: places by the paths that named them here.
  template <engine::Described T>
  void name_as_here(T& record) const {
    engine::for_each_input_file(engine::kType<T>, &record, [&](std::string& path) {
      if (const auto named = names_.find(path); named != names_.end()) path = named->second;
    });
  }

 private:
  engine::Result<std::string> send(const std::string& path, const Callbacks& callbacks);

  std::shared_ptr<const SshConnection> ssh_;
  std::string cache_;
  std::map<std::string, std::string> places_;  // by path here and the state of its file
  std::map<std::string, std::string> names_;   // path here, by place there
};

}  // namespace app
