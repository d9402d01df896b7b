// A file of another machine that this program itself reads, such as a recording: copied here.
#pragma once

#include <functional>
#include <string>

#include "app/remote/ssh_connection.h"
#include "engine/model/error.h"

namespace app {

struct FetchCallbacks {
  /// "x.session, 12 MiB" and the share that has arrived.
  std::function<void(const std::string&, double)> progress;
  std::function<bool()> stop;
};

/// Copies the file of `ssh`'s machine into this user's cache and returns the path of the copy,
/// which has its name. A database is copied with what it has not yet merged (`-wal`). Every call
/// copies anew: the file may have changed. Copies that nobody opened for a month are removed.
/// Device: it is not there, is no regular file, or changed meanwhile. Io: no room here, or no
/// cache. Cancelled: `stop` asked for the end.
engine::Result<std::string> fetch_file(const SshConnection& ssh, const std::string& path,
                                       const FetchCallbacks& callbacks);

}  // namespace app
