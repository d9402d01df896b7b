// What expertscope-attach-agent, on another machine, and the program here tell each other, through
// the agent's standard streams. Both are of one build, so nothing here has a version. From there:
// messages, each "XSA1", its kind, the length of its body, the length of what follows (a zstd frame
// where that is shorter), and the body. From here: one byte for each command; the end of the stream
// says that nobody watches any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model/error.h"

namespace app {

enum class AttachKind : std::uint32_t {
  Started = 1,  // "PID FOLDER": the program runs, its spools are in that folder there
  Refused,      // why it could not be started
  Output,       // what the program printed
  Errors,       // and on its standard error
  Spool,        // SpoolPiece
  Clock,        // 8 bytes: nanoseconds on CLOCK_MONOTONIC, when the last pieces had been read
  Device,       // what the driver says of the device that was asked about
  Ended,        // "ended with exit code 0": nothing but this comes after it
};
inline constexpr std::uint32_t kLastAttachKind = static_cast<std::uint32_t>(AttachKind::Ended);

enum class AttachCommand : char {
  Interrupt = 'i',
  End = 't',
  Kill = 'k',
  Device = 'd',  // followed by a PCI address and a zero byte
  Done = 'f',    // everything has arrived, the folder there can go
};

inline constexpr std::size_t kMaxAttachBody = std::size_t{1} << 20;

struct AttachMessage {
  AttachKind kind = AttachKind::Output;
  std::string body;
};

/// Ready to write. A body has at most kMaxAttachBody bytes.
std::string encode(AttachKind kind, std::string_view body);

/// Bytes in, messages out. After an error the stream can no longer be trusted.
class AttachDecoder {
 public:
  void append(std::string_view bytes);
  /// None when more bytes are needed.
  engine::Result<std::optional<AttachMessage>> next();

 private:
  std::string buffer_;
  std::size_t taken_ = 0;  // bytes of buffer_
};

/// A number as the 8 bytes of a message.
std::string bytes_of(std::uint64_t number);
std::optional<std::uint64_t> number_in(std::string_view bytes);

/// Bytes of a spool: of its header, which is written again and again, or such as lengthen it.
struct SpoolPiece {
  std::string name;      // of the file, "1234-1764200000.spool"
  std::uint64_t at = 0;  // where in the file
  std::string bytes;
};
std::string encode(const SpoolPiece& piece);
std::optional<SpoolPiece> spool_piece(std::string_view body);

}  // namespace app
