// The .npz archive: a ZIP file whose members are .npy files. Its directory is read in place, with
// every number checked against the file. A stored member is handed out as a range of the mapping,
// as if it were a file of its own; a compressed one has no such range and is inflated into memory,
// never beyond the size that the directory declares.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <set>
#include <string_view>

#include "engine/input/tensor_file.h"
#include "engine/model/path_text.h"

namespace engine {
namespace {

constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kMaxComment = 0xFFFF;
constexpr std::uint64_t kMaxMembers = 100'000;
// Of one compressed member: it has to fit into memory as a whole.
constexpr std::uint64_t kMaxInflatedBytes = 4ULL << 30;
// Of a compressed member, to read its .npy header.
constexpr std::uint64_t kHeadBytes = 68 * 1024;
// The most that deflate can expand anything, rounded up; what declares more is damaged or hostile.
constexpr std::uint64_t kMostExpansion = 1040;

enum Method : std::uint16_t { kStored = 0, kDeflated = 8 };

struct Member {
  std::string name;  // without .npy
  std::uint16_t method = kStored;
  std::uint32_t crc = 0;
  std::uint64_t size = 0;
  std::span<const std::byte> bytes;  // as in the archive
};

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof(Number));
  return number;
}

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

struct Directory {
  std::span<const std::byte> bytes;
  std::size_t begin = 0;  // in the file; members lie before it
  std::uint64_t members = 0;
};

Result<Directory> find_directory(std::span<const std::byte> file) {
  const auto damaged = [] {
    return invalid(
        "it has no ZIP directory at its end: the file is truncated, or no .npz; save it "
        "again with np.savez");
  };
  if (file.size() < kEndBytes) return damaged();
  const std::size_t last = file.size() - kEndBytes;
  std::size_t end = last + 1;
  for (std::size_t back = 0; back <= std::min(last, kMaxComment); ++back) {
    const std::size_t at = last - back;
    if (number_at<std::uint32_t>(file, at) != 0x06054B50 ||
        number_at<std::uint16_t>(file, at + 20) != back) {
      continue;
    }
    end = at;
    break;
  }
  if (end > last) return damaged();
  std::uint64_t members = number_at<std::uint16_t>(file, end + 10);
  std::uint64_t bytes = number_at<std::uint32_t>(file, end + 12);
  std::uint64_t begin = number_at<std::uint32_t>(file, end + 16);
  if (members == 0xFFFF || bytes == 0xFFFFFFFF || begin == 0xFFFFFFFF) {
    if (end < kLocator64Bytes ||
        number_at<std::uint32_t>(file, end - kLocator64Bytes) != 0x07064B50) {
      return damaged();
    }
    const auto at = number_at<std::uint64_t>(file, end - kLocator64Bytes + 8);
    if (at > end || end - at < kEnd64Bytes || number_at<std::uint32_t>(file, at) != 0x06064B50) {
      return damaged();
    }
    members = number_at<std::uint64_t>(file, at + 32);
    bytes = number_at<std::uint64_t>(file, at + 40);
    begin = number_at<std::uint64_t>(file, at + 48);
  }
  if (begin > end || bytes > end - begin) {
    return invalid(
        fmt::format("its directory claims bytes {} to {} + {} of {}: the file is "
                    "truncated or damaged; save it again",
                    begin, begin, bytes, file.size()));
  }
  if (members > kMaxMembers) {
    return invalid(fmt::format("it claims {} tensors; at most {} are read", members, kMaxMembers));
  }
  return Directory{.bytes = file.subspan(begin, bytes), .begin = begin, .members = members};
}

/// Sizes and place that do not fit 32 bits are in the extra field, in this order.
bool widen(std::span<const std::byte> extra, std::initializer_list<std::uint64_t*> numbers) {
  while (extra.size() >= 4) {
    const auto id = number_at<std::uint16_t>(extra, 0);
    const std::size_t bytes = number_at<std::uint16_t>(extra, 2);
    if (bytes > extra.size() - 4) return false;
    std::span<const std::byte> field = extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
    if (id != 1) continue;
    for (std::uint64_t* number : numbers) {
      if (*number != 0xFFFFFFFF) continue;
      if (field.size() < sizeof(*number)) return false;
      *number = number_at<std::uint64_t>(field, 0);
      field = field.subspan(sizeof(*number));
    }
    return true;
  }
  return true;
}

/// A member's name is the name of a tensor, never a path.
Result<std::string> tensor_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".npy";
  const bool control = std::ranges::any_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  const std::string seen = control ? std::string("(control characters)") : std::string(name);
  if (control || name.starts_with('/') || name.find('\\') != std::string_view::npos ||
      name.find("..") != std::string_view::npos || name.size() == kSuffix.size()) {
    return invalid(
        fmt::format("its member '{}' is not named as a tensor; save the arrays again "
                    "with np.savez(path, x=x, w=w)",
                    seen));
  }
  if (!name.ends_with(kSuffix)) {
    return invalid(
        fmt::format("its member '{}' is no .npy file, so this is a ZIP archive but no "
                    ".npz; save the arrays with np.savez(path, x=x, w=w)",
                    seen));
  }
  return std::string(name.substr(0, name.size() - kSuffix.size()));
}

/// The member whose entry is at the start of `entries`, which is advanced past it.
Result<Member> read_member(std::span<const std::byte> file, const Directory& directory,
                           std::span<const std::byte>& entries) {
  const auto damaged = [](const std::string& what) {
    return invalid(what + ": the file is truncated or damaged; save it again with np.savez");
  };
  if (entries.size() < kEntryBytes || number_at<std::uint32_t>(entries, 0) != 0x02014B50) {
    return damaged("its directory ends before the last tensor");
  }
  const auto flags = number_at<std::uint16_t>(entries, 8);
  Member member{.name = {},
                .method = number_at<std::uint16_t>(entries, 10),
                .crc = number_at<std::uint32_t>(entries, 16),
                .size = number_at<std::uint32_t>(entries, 24),
                .bytes = {}};
  std::uint64_t packed = number_at<std::uint32_t>(entries, 20);
  std::uint64_t local = number_at<std::uint32_t>(entries, 42);
  const std::size_t name_bytes = number_at<std::uint16_t>(entries, 28);
  const std::size_t extra_bytes = number_at<std::uint16_t>(entries, 30);
  const std::size_t all =
      kEntryBytes + name_bytes + extra_bytes + number_at<std::uint16_t>(entries, 32);
  if (all > entries.size()) return damaged("its directory ends inside a tensor's name");
  const std::string_view name(reinterpret_cast<const char*>(entries.data()) + kEntryBytes,
                              name_bytes);
  ENGINE_ASSIGN(member.name, tensor_name(name));
  const std::string label = fmt::format("tensor '{}'", member.name);
  if (!widen(entries.subspan(kEntryBytes + name_bytes, extra_bytes),
             {&member.size, &packed, &local})) {
    return damaged(label + " has sizes that cannot be read");
  }
  entries = entries.subspan(all);
  if ((flags & 1U) != 0) return invalid(label + " is encrypted; save it without a password");
  if (member.method != kStored && member.method != kDeflated) {
    return invalid(
        fmt::format("{} is compressed by ZIP method {}; only stored (0) and deflated "
                    "(8) are read: save it with np.savez or np.savez_compressed",
                    label, member.method));
  }
  if (local > directory.begin || directory.begin - local < kLocalBytes ||
      number_at<std::uint32_t>(file, local) != 0x04034B50) {
    return damaged(fmt::format("{} is said to begin at byte {}, where none does", label, local));
  }
  const std::uint64_t begin = local + kLocalBytes + number_at<std::uint16_t>(file, local + 26) +
                              number_at<std::uint16_t>(file, local + 28);
  if (begin > directory.begin || packed > directory.begin - begin) {
    return damaged(
        fmt::format("{} claims {} bytes from byte {}, but its archive has {} for "
                    "tensors",
                    label, packed, begin, directory.begin));
  }
  const bool possible =
      member.method == kStored ? member.size == packed : member.size / kMostExpansion <= packed;
  if (!possible) {
    return damaged(fmt::format("{} claims {} bytes, which cannot come from {} bytes in the archive",
                               label, member.size, packed));
  }
  member.bytes = file.subspan(begin, packed);
  return member;
}

/// No byte belongs to two members: an archive that shares them is made to exhaust memory.
Status check_apart(const std::vector<Member>& members) {
  std::vector<const Member*> order;
  for (const Member& member : members) {
    if (!member.bytes.empty()) order.push_back(&member);
  }
  std::ranges::sort(order, {}, [](const Member* one) { return one->bytes.data(); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i]->bytes.data() >= order[i - 1]->bytes.data() + order[i - 1]->bytes.size()) continue;
    return invalid(
        fmt::format("tensors '{}' and '{}' share bytes: the archive is damaged; save it "
                    "again with np.savez",
                    order[i - 1]->name, order[i]->name));
  }
  return {};
}

/// The first `size` bytes of a compressed member.
Result<InflatedBytes> inflate_start(const Member& member, std::uint64_t size,
                                    const std::string& label) {
  const auto refuse = [&](const std::string& what) {
    return invalid(fmt::format("{} {}; save it again with np.savez", label, what));
  };
  InflatedBytes out;
  out.bytes.reset(new (std::nothrow) std::byte[std::max<std::uint64_t>(size, 1)]);
  if (out.bytes == nullptr) return refuse(fmt::format("needs {} bytes, more than are free", size));
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return refuse("cannot be inflated: no memory");
  constexpr std::uint64_t kChunk = 1ULL << 30;  // zlib counts in 32 bits
  std::size_t read = 0;
  int state = Z_OK;
  while (state == Z_OK && out.size < size) {
    const std::size_t in = std::min<std::size_t>(member.bytes.size() - read, kChunk);
    const std::uint64_t room = std::min(size - out.size, kChunk);
    // zlib does not write to its input, but its type says so where ZLIB_CONST is not defined.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.bytes.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.bytes.get() + out.size);
    stream.avail_out = static_cast<uInt>(room);
    state = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    out.size += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (out.size < size) {
    return refuse(fmt::format("declares {} bytes and inflates to {}: it is damaged or truncated",
                              member.size, out.size));
  }
  return out;
}

Result<StoredTensor> read_tensor(const Member& member, bool whole, const std::string& where,
                                 std::vector<InflatedBytes>& inflated) {
  const std::string label = fmt::format("{}: '{}'", where, member.name);
  const auto named = [&](StoredTensor tensor) {
    tensor.name = member.name;
    return tensor;
  };
  if (member.method == kStored) {
    ENGINE_ASSIGN(StoredTensor tensor, parse_npy(member.bytes, label));
    return named(std::move(tensor));
  }
  if (whole && member.size > kMaxInflatedBytes) {
    return invalid(
        fmt::format("{} is compressed and has {} bytes; at most {} are inflated: save "
                    "it with np.savez, which does not compress and is read in place",
                    label, member.size, kMaxInflatedBytes));
  }
  ENGINE_ASSIGN(
      InflatedBytes bytes,
      inflate_start(member, whole ? member.size : std::min(member.size, kHeadBytes), label));
  const std::span<const std::byte> content(bytes.bytes.get(), bytes.size);
  if (whole) {
    uLong crc = crc32(0, nullptr, 0);
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(content.data()), content.size());
    if (crc != member.crc) {
      return invalid(label + ": its checksum is wrong: the archive is damaged; save it again");
    }
  }
  ENGINE_ASSIGN(StoredTensor tensor, parse_npy(content, label, member.size));
  if (whole) inflated.push_back(std::move(bytes));
  return named(std::move(tensor));
}

}  // namespace

Result<NpzTensors> parse_npz(std::span<const std::byte> file, const std::string& where,
                             const TensorsWanted& wanted) {
  const auto refuse = [&](const Error& error) {
    return invalid(fmt::format("{}: {}", where, error.message));
  };
  const Result<Directory> directory = find_directory(file);
  if (!directory.ok()) return refuse(directory.error());
  std::span<const std::byte> entries = directory.value().bytes;
  std::vector<Member> members;
  std::set<std::string, std::less<>> names;
  for (std::uint64_t i = 0; i < directory.value().members; ++i) {
    Result<Member> member = read_member(file, directory.value(), entries);
    if (!member.ok()) return refuse(member.error());
    if (!names.insert(member.value().name).second) {
      return refuse(invalid(fmt::format(
          "it has two tensors named '{}'; save it again with np.savez", member.value().name)));
    }
    members.push_back(std::move(member).value());
  }
  if (members.empty()) return refuse(invalid("it contains no tensor"));
  if (const Status apart = check_apart(members); !apart.ok()) return refuse(apart.error());
  NpzTensors tensors;
  for (const Member& member : members) {
    ENGINE_ASSIGN(StoredTensor tensor,
                  read_tensor(member, wanted.has(member.name), where, tensors.inflated));
    tensors.tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace engine
