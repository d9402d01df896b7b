// The .npy header, versions 1 to 3: magic, length, and a Python dictionary of exactly three keys,
// read by a parser that accepts nothing else.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/input/file_kind.h"
#include "engine/input/tensor_file.h"

namespace engine {
namespace {

constexpr std::size_t kMaxNpyHeaderBytes = 64 * 1024;
constexpr std::size_t kMaxNpyDimensions = 32;  // as numpy

static_assert(std::endian::native == std::endian::little, "tensor files are read in place");

struct Header {
  std::string descr;
  bool structured = false;  // descr is a list of fields
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header's text left to right; every take_ returns false without a match.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view wanted) {
    skip_space();
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(wanted.size());
    return true;
  }
  bool take_string(std::string& out) {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return false;
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return false;
    out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }
  bool take_integer(std::int64_t& out) {
    skip_space();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (error != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  std::string_view rest_;
};

bool parse_shape(HeaderText& text, std::vector<std::int64_t>& shape) {
  if (!text.take('(')) return false;
  while (!text.take(')')) {
    std::int64_t dimension = 0;
    if (!text.take_integer(dimension) || shape.size() == kMaxNpyDimensions) return false;
    shape.push_back(dimension);
    if (!text.take(',')) return text.take(')');
  }
  return true;
}

std::optional<Header> parse_header(std::string_view dictionary) {
  HeaderText text(dictionary);
  Header header;
  bool seen_descr = false;
  bool seen_order = false;
  bool seen_shape = false;
  if (!text.take('{')) return std::nullopt;
  while (!text.take('}')) {
    std::string key;
    if (!text.take_string(key) || !text.take(':')) return std::nullopt;
    if (key == "descr" && !seen_descr) {
      seen_descr = true;
      if (text.take('[')) {
        header.structured = true;
        return header;
      }
      if (!text.take_string(header.descr)) return std::nullopt;
    } else if (key == "fortran_order" && !seen_order) {
      seen_order = true;
      header.fortran_order = text.take_word("True");
      if (!header.fortran_order && !text.take_word("False")) return std::nullopt;
    } else if (key == "shape" && !seen_shape) {
      seen_shape = true;
      if (!parse_shape(text, header.shape)) return std::nullopt;
    } else {
      return std::nullopt;
    }
    if (!text.take(',')) {
      if (!text.take('}')) return std::nullopt;
      break;
    }
  }
  if (!seen_descr || !seen_order || !seen_shape || !text.at_end()) return std::nullopt;
  return header;
}

StoredType npy_type(const std::string& descr) {
  if (descr == "<f4") return StoredType::F32;
  if (descr == "<f2") return StoredType::F16;
  // ml_dtypes' bfloat16 is saved as a plain item of two bytes.
  if (descr == "<u2" || descr == "<V2" || descr == "|V2") return StoredType::Bf16;
  if (descr == "|u1") return StoredType::U8;
  if (descr == "<i2") return StoredType::I16;
  if (descr == "<i4") return StoredType::I32;
  if (descr == "<i8") return StoredType::I64;
  return StoredType::Unusable;
}

std::string unusable_reason(const Header& header) {
  if (header.structured || header.descr.find('O') != std::string::npos ||
      header.descr.find('V') != std::string::npos) {
    return "it holds objects or records; save plain numbers: np.save(path, x.astype(np.float32))";
  }
  if (header.descr.starts_with('>')) {
    return fmt::format(
        "its numbers are big endian ('{}'); save them as np.save(path, x.astype('<f4'))",
        header.descr);
  }
  return fmt::format(
      "its type '{}' is not one of '<f4', '<f2', '<u2' or '<V2' (BF16 bits), '|u1', '<i2', '<i4', "
      "'<i8'; convert it with x.astype(np.float32)",
      header.descr);
}

}  // namespace

Result<StoredTensor> parse_npy(std::span<const std::byte> file, const std::string& where) {
  return parse_npy(file, where, file.size());
}

Result<StoredTensor> parse_npy(std::span<const std::byte> file, const std::string& where,
                               std::uint64_t file_bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", where, why)};
  };
  if (file.size() < 10 || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) {
    const std::string kind = kind_of_file(
        {reinterpret_cast<const char*>(file.data()), std::min(file.size(), kFileKindBytes)});
    return refuse(
        fmt::format("not a .npy file (its first bytes are not \\x93NUMPY){}; write it with "
                    "np.save",
                    kind.empty() ? kind : " but " + kind));
  }
  const auto version = static_cast<unsigned>(file[6]);
  if (version < 1 || version > 3) {
    return refuse(fmt::format(".npy version {} is unknown; versions 1 to 3 are read", version));
  }
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t header_begin = 8 + length_bytes;
  if (file.size() < header_begin) return refuse("the file ends inside the header's length");
  std::uint32_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data() + 8, length_bytes);
  if (header_bytes > kMaxNpyHeaderBytes) {
    return refuse(fmt::format("the header claims {} bytes; at most {} are read", header_bytes,
                              kMaxNpyHeaderBytes));
  }
  if (header_bytes > file.size() - header_begin) {
    return refuse(fmt::format("the header claims {} bytes but only {} follow", header_bytes,
                              file.size() - header_begin));
  }
  const std::optional<Header> header =
      parse_header({reinterpret_cast<const char*>(file.data()) + header_begin, header_bytes});
  if (!header) {
    return refuse("the header is not a dictionary of descr, fortran_order and shape");
  }

  StoredTensor tensor;
  tensor.dtype = header->structured ? "records" : header->descr;
  tensor.shape = header->shape;
  tensor.type = header->structured ? StoredType::Unusable : npy_type(header->descr);
  if (tensor.type == StoredType::Unusable) {
    tensor.reason = unusable_reason(*header);
    return tensor;
  }
  if (header->fortran_order) {
    tensor.type = StoredType::Unusable;
    tensor.column_major = true;
    tensor.reason = "its order is Fortran's (column by column); save np.ascontiguousarray(x)";
    return tensor;
  }
  const Result<std::int64_t> elements = element_count(tensor.shape);
  if (!elements.ok()) return refuse(elements.error().message);
  const std::size_t available = file_bytes - header_begin - header_bytes;
  const auto size = static_cast<std::size_t>(stored_size(tensor.type));
  // By division, since elements * size may not fit 64 bits.
  if (static_cast<std::size_t>(elements.value()) > available / size) {
    return refuse(
        fmt::format("shape {} of '{}' needs {} bytes per element for {} elements, but only "
                    "{} bytes follow the header: the file is truncated",
                    shape_text(tensor.shape), tensor.dtype, size, elements.value(), available));
  }
  if (file.size() < file_bytes) return tensor;
  tensor.bytes =
      file.subspan(header_begin + header_bytes, static_cast<std::size_t>(elements.value()) * size);
  return tensor;
}

}  // namespace engine
