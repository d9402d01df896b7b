#include "app/attach/attach_stream.h"

#include <fmt/format.h>
#include <zstd.h>

#include <array>
#include <cstring>
#include <utility>

namespace app {
namespace {

constexpr std::string_view kMagic = "XSA1";
constexpr std::size_t kLeastCompressed = 512;

struct Head {
  std::array<char, 4> magic;
  std::uint32_t kind;
  std::uint32_t length;  // of the body
  std::uint32_t packed;  // of what follows; less than `length` = a zstd frame
};

engine::Error broken_stream(std::string_view why) {
  return {engine::ErrorCode::Protocol,
          fmt::format("what arrived from the other machine makes no sense: {}", why)};
}

std::string packed_body(std::string_view body) {
  if (body.size() < kLeastCompressed) return std::string(body);
  constexpr int kFastest = 1;
  std::string packed(ZSTD_compressBound(body.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), body.data(), body.size(), kFastest);
  if (ZSTD_isError(size) != 0 || size >= body.size()) return std::string(body);
  packed.resize(size);
  return packed;
}

}  // namespace

std::string encode(AttachKind kind, std::string_view body) {
  const std::string packed = packed_body(body);
  Head head{.magic = {},
            .kind = static_cast<std::uint32_t>(kind),
            .length = static_cast<std::uint32_t>(body.size()),
            .packed = static_cast<std::uint32_t>(packed.size())};
  std::memcpy(head.magic.data(), kMagic.data(), kMagic.size());
  std::string text(sizeof head, '\0');
  std::memcpy(text.data(), &head, sizeof head);
  return text + packed;
}

void AttachDecoder::append(std::string_view bytes) {
  buffer_.erase(0, std::exchange(taken_, 0));
  buffer_ += bytes;
}

engine::Result<std::optional<AttachMessage>> AttachDecoder::next() {
  const std::string_view there = std::string_view(buffer_).substr(taken_);
  Head head{};
  if (there.size() < sizeof head) return std::optional<AttachMessage>();
  std::memcpy(&head, there.data(), sizeof head);
  if (std::string_view(head.magic.data(), head.magic.size()) != kMagic) {
    return broken_stream("it is no message");
  }
  if (head.kind == 0 || head.kind > kLastAttachKind || head.length > kMaxAttachBody ||
      head.packed > head.length) {
    return broken_stream(fmt::format("a message of kind {} with {} bytes", head.kind, head.length));
  }
  if (there.size() - sizeof head < head.packed) return std::optional<AttachMessage>();
  const std::string_view packed = there.substr(sizeof head, head.packed);
  AttachMessage message{.kind = static_cast<AttachKind>(head.kind), .body = std::string(packed)};
  if (head.packed < head.length) {
    message.body.assign(head.length, '\0');
    const std::size_t got =
        ZSTD_decompress(message.body.data(), message.body.size(), packed.data(), packed.size());
    if (ZSTD_isError(got) != 0 || got != head.length) {
      return broken_stream("a compressed message cannot be read");
    }
  }
  taken_ += sizeof head + head.packed;
  return std::optional(std::move(message));
}

std::string bytes_of(std::uint64_t number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::optional<std::uint64_t> number_in(std::string_view bytes) {
  std::uint64_t number = 0;
  if (bytes.size() != sizeof number) return std::nullopt;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

std::string encode(const SpoolPiece& piece) {
  std::string body = piece.name;
  body += '\0';
  return body + bytes_of(piece.at) + piece.bytes;
}

std::optional<SpoolPiece> spool_piece(std::string_view body) {
  const std::size_t name = body.find('\0');
  if (name == std::string_view::npos) return std::nullopt;
  const std::string_view rest = body.substr(name + 1);
  const std::optional<std::uint64_t> at = number_in(rest.substr(0, sizeof(std::uint64_t)));
  if (!at) return std::nullopt;
  return SpoolPiece{.name = std::string(body.substr(0, name)),
                    .at = *at,
                    .bytes = std::string(rest.substr(sizeof(std::uint64_t)))};
}

}  // namespace app
