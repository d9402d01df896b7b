// The machines that a user has named in the configuration of ssh.
#pragma once

#include <string>
#include <vector>

namespace app {

/// Names in the Host lines of `home`/.ssh/config and of the files that it includes: sorted, each
/// once, without patterns (* ? !) and without what ssh would not take as a machine name. A file
/// that cannot be read has none. Reads disks: not for the window's thread.
std::vector<std::string> ssh_hosts(const std::string& home);

}  // namespace app
