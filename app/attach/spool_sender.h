// The spools of a folder as pieces that make copies of them grow elsewhere: whole frames only, in
// order, and of the header what has changed. A copy can be read at any time, also if nothing more
// arrives: its header never promises frames that it does not have, until the program has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "app/attach/attach_stream.h"
#include "engine/model/error.h"
#include "engine/model/unique_fd.h"
#include "profiling/attach/spool/spool_reader.h"

namespace app {

class SpoolSender {
 public:
  explicit SpoolSender(std::string folder) : folder_(std::move(folder)) {}

  /// Hands out what is new, of each spool at most `most` bytes of frames. `ended`: the program is
  /// gone, so frames that it left incomplete are handed out as they are. False = there may be more.
  bool send(bool ended, std::uint64_t most, const std::function<void(const SpoolPiece&)>& piece);

 private:
  struct Spool {
    engine::UniqueFd file;
    std::unique_ptr<profiling::SpoolReader> reader;
    std::string header;       // as it was last sent
    std::uint64_t whole = 0;  // where the first incomplete frame is
    std::uint64_t sent = 0;
  };
  void send_header(const std::string& name, Spool& spool, const std::string& header,
                   const std::function<void(const SpoolPiece&)>& piece) const;
  bool open(const std::string& name, Spool& spool) const;

  std::string folder_;
  std::map<std::string, Spool> spools_;  // by name
};

}  // namespace app
