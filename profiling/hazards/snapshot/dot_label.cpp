// As written by driver 580 (CUDA 13). Short form: lines "ID", keyword or kernel name, "(operands)".
// With flags: a record label, cells "| {key | value}" or "| {{keys} | {values}}". A kernel's cell
// ends in \<\<\<grid,block,shared bytes\>\>\>, where a size of more than one dimension is \{x,y\}.
#include "profiling/hazards/snapshot/dot_label.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "engine/model/text.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

constexpr std::pair<std::string_view, NodeType> kKeywords[] = {
    {"KERNEL", NodeType::Kernel},
    {"MEMCPY", NodeType::Memcpy},
    {"MEMSET", NodeType::Memset},
    {"HOST", NodeType::Host},
    {"EMPTY", NodeType::Empty},
    {"EVENT_WAIT", NodeType::WaitEvent},
    {"WAIT_EVENT", NodeType::WaitEvent},
    {"EVENT_RECORD", NodeType::RecordEvent},
    {"EXT_SEMAS_SIGNAL", NodeType::SignalSemaphore},
    {"EXT_SEMAS_WAIT", NodeType::WaitSemaphore},
    {"MEM_ALLOC", NodeType::MemAlloc},
    {"MEM_FREE", NodeType::MemFree},
    {"BATCH_MEM_OP", NodeType::BatchMemOp},
    {"CONDITIONAL", NodeType::Conditional},
};

/// Kernel names of C++ programs are long, but demanglers cannot handle megabytes.
constexpr std::size_t kLongestName = 16384;

std::optional<std::uint64_t> number(std::string_view text) {
  text = trimmed(text);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char border) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(border);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// The innermost {...} groups of a label, from left to right, each as its cells.
std::vector<std::vector<std::string_view>> groups(std::string_view label) {
  std::vector<std::vector<std::string_view>> found;
  std::size_t open = std::string_view::npos;
  for (std::size_t i = 0; i < label.size(); ++i) {
    if (label[i] == '{') open = i;
    if (label[i] != '}' || open == std::string_view::npos) continue;
    found.push_back(split(label.substr(open + 1, i - open - 1), '|'));
    open = std::string_view::npos;
  }
  return found;
}

/// The number for a key: next to it in its own group, or at its position in the following group.
/// `nth` counts equal keys of the label from 0.
std::uint64_t value_of(const std::vector<std::vector<std::string_view>>& groups,
                       std::string_view key, int nth = 0) {
  int seen = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::vector<std::string_view>& cells = groups[g];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i] != key || seen++ != nth) continue;
      if (cells.size() == 2 && i == 0) {
        if (const auto value = number(cells[1])) return *value;
      }
      if (g + 1 >= groups.size() || i >= groups[g + 1].size()) return 0;
      return number(groups[g + 1][i]).value_or(0);
    }
  }
  return 0;
}

/// Products of sizes from a file; 0, which means "unknown", if they exceed 64 bits.
std::uint64_t product(std::uint64_t left, std::uint64_t right) {
  if (right != 0 && left > std::numeric_limits<std::uint64_t>::max() / right) return 0;
  return left * right;
}

std::uint32_t narrow(std::uint64_t value) {
  return value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

/// "{2,3}" or "64", backslashes removed; nothing if it is not a launch size.
std::optional<Extent> extent(std::string_view text) {
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  const std::vector<std::string_view> sizes = split(text, ',');
  if (sizes.size() > 3) return std::nullopt;
  Extent result;
  std::uint32_t* const targets[] = {&result.x, &result.y, &result.z};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = number(sizes[i]);
    if (!size || *size == 0 || narrow(*size) == 0) return std::nullopt;
    *targets[i] = narrow(*size);
  }
  return result;
}

/// The text between the angle brackets: grid, block, bytes of dynamic shared memory.
void read_launch(std::string_view text, KernelNode& kernel) {
  std::string plain;
  for (const char c : text) {
    if (c != '\\' && c != ' ') plain += c;
  }
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= plain.size(); ++i) {
    const char c = i < plain.size() ? plain[i] : ',';
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c != ',' || (depth != 0 && i < plain.size())) continue;
    parts.push_back(std::string_view(plain).substr(begin, i - begin));
    begin = i + 1;
  }
  if (parts.size() != 3) return;
  const auto grid = extent(parts[0]);
  const auto block = extent(parts[1]);
  if (!grid || !block) return;
  kernel.grid = *grid;
  kernel.block = *block;
  kernel.dynamic_shared_bytes = narrow(number(parts[2]).value_or(0));
}

/// Number of back references in a mangled name: "S_", "S1A_", "T0_".
int back_references(std::string_view mangled) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < mangled.size(); ++i) {
    if (mangled[i] != 'S' && mangled[i] != 'T') continue;
    const std::size_t end =
        mangled.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i + 1);
    if (end != std::string_view::npos && mangled[end] == '_') ++count;
  }
  return count;
}

/// "_ZN2at6native6kernelI...": at::native::kernel. Empty if it does not start like that.
std::string outline_of(std::string_view mangled) {
  std::string outline;
  mangled.remove_prefix(mangled.starts_with("_ZN") ? 3 : 2);
  for (;;) {
    std::size_t size = 0;
    const auto [end, error] =
        std::from_chars(mangled.data(), mangled.data() + mangled.size(), size);
    if (error != std::errc{}) return outline;
    mangled.remove_prefix(static_cast<std::size_t>(end - mangled.data()));
    if (size > mangled.size()) return outline;
    const std::string_view part = mangled.substr(0, size);
    mangled.remove_prefix(size);
    if (part.starts_with("_GLOBAL__N_")) continue;
    if (!outline.empty()) outline += "::";
    outline += part;
  }
}

/// Each back reference may repeat everything before it: 300 characters can expand to gigabytes, and
/// the demangler would write them. So a name with many of them is shown without template arguments.
std::string kernel_name_of(const std::string& function) {
  constexpr int kMaxBackReferences = 24;
  if (function.empty()) return readable_kernel_name(nullptr);
  if (function.starts_with("_Z") && back_references(function) > kMaxBackReferences) {
    std::string outline = outline_of(function);
    return outline.empty() ? function : outline;
  }
  return readable_kernel_name(function.c_str());
}

DotNode kernel_node(std::string_view name, std::string_view launch, bool cooperative) {
  KernelNode kernel;
  kernel.function = engine::shown_text(trimmed(name).substr(0, kLongestName));
  kernel.cooperative = cooperative;
  read_launch(launch, kernel);
  DotNode result;
  result.node.type = NodeType::Kernel;
  result.node.name = kernel_name_of(kernel.function);
  result.node.parameters = std::move(kernel);
  return result;
}

/// The cell "| {ID | 14 (topoId: 6) | name<<<16,128,0>>>}". The name is not escaped: it may hold
/// braces, bars and angle brackets, so the cell is the whole line, its end found from the
/// back.
DotNode kernel_of_record(std::string_view label) {
  const bool cooperative = label.find("{cooperative | 1}") != std::string_view::npos;
  const std::size_t id = label.find("{ID |");
  if (id == std::string_view::npos) return kernel_node({}, {}, cooperative);
  std::string_view line = label.substr(id + 5);
  line = trimmed(line.substr(0, line.find('\n')));
  if (line.ends_with('}')) line.remove_suffix(1);
  const std::size_t bar = line.find('|');
  if (bar == std::string_view::npos) return kernel_node({}, {}, cooperative);
  line.remove_prefix(bar + 1);
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"\\<\\<\\<", "\\>\\>\\>"},
        std::pair<std::string_view, std::string_view>{"<<<", ">>>"}}) {
    const std::size_t from = line.rfind(open);
    const std::size_t to = line.rfind(close);
    if (from == std::string_view::npos || to == std::string_view::npos || to < from) continue;
    const std::size_t inside = from + open.size();
    return kernel_node(line.substr(0, from), line.substr(inside, to - inside), cooperative);
  }
  return kernel_node(line, {}, cooperative);
}

/// The operands of the short form: "(7,100)" or "(DtoH,512)".
std::array<std::string_view, 2> short_operands(std::string_view label) {
  const std::size_t open = label.rfind('(');
  const std::size_t comma = label.find(',', open == std::string_view::npos ? label.size() : open);
  const std::size_t close = label.find(')', comma == std::string_view::npos ? label.size() : comma);
  if (close == std::string_view::npos) return {};
  return {trimmed(label.substr(open + 1, comma - open - 1)),
          trimmed(label.substr(comma + 1, close - comma - 1))};
}

MemsetNode memset_of(std::string_view label) {
  MemsetNode memset;
  if (label.find('|') == std::string_view::npos) {
    const auto [value, bytes] = short_operands(label);
    memset.value = narrow(number(value).value_or(0));
    memset.width = number(bytes).value_or(0);
    return memset;
  }
  const auto cells = groups(label);
  memset.address = value_of(cells, "dptr");
  memset.value = narrow(value_of(cells, "value"));
  memset.element_bytes = std::max(1U, narrow(value_of(cells, "elementSize")));
  memset.width = value_of(cells, "width");
  memset.height = value_of(cells, "height");
  memset.pitch = value_of(cells, "pitch");
  // MemsetNode::bytes() multiplies these.
  if (product(memset.width, memset.element_bytes) == 0) memset.width = 0;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 47;
  if (memset.width > kLargest || product(memset.height, memset.pitch) > kLargest) {
    memset.width = memset.height = memset.pitch = 0;
  }
  return memset;
}

engine::MemorySpace space_of(std::string_view words) {
  words = trimmed(words);
  if (words == "DEVICE" || words == "D") return engine::MemorySpace::Device;
  if (words == "HOST PINNED") return engine::MemorySpace::PinnedHost;
  if (words == "HOST PAGEABLE") return engine::MemorySpace::PageableHost;
  if (words == "MANAGED" || words == "UNIFIED") return engine::MemorySpace::Managed;
  return engine::MemorySpace::Unknown;
}

MemcpyNode memcpy_of(std::string_view label) {
  MemcpyNode copy;
  if (label.find('|') == std::string_view::npos) {
    const auto [direction, bytes] = short_operands(label);
    if (direction.size() == 4) {
      copy.source_space = space_of(direction.substr(0, 1));
      copy.target_space = space_of(direction.substr(3));
    }
    copy.bytes = number(bytes).value_or(0);
    return copy;
  }
  // "{kind | DtoH (DEVICE to HOST PAGEABLE)}"
  if (const std::size_t kind = label.find("{kind |"); kind != std::string_view::npos) {
    std::string_view words = label.substr(kind, label.find('}', kind) - kind);
    const std::size_t open = words.find('(');
    const std::size_t to = words.find(" to ");
    const std::size_t close = words.rfind(')');
    if (open < to && to < close && close != std::string_view::npos) {
      copy.source_space = space_of(words.substr(open + 1, to - open - 1));
      copy.target_space = space_of(words.substr(to + 4, close - to - 4));
    }
  }
  const auto cells = groups(label);
  const auto address = [&](int side) {
    const std::uint64_t base = value_of(cells, "ptr", side);
    const std::uint64_t row = value_of(cells, "pitch", side);
    const std::uint64_t rows = value_of(cells, "ysize", side);
    return base + value_of(cells, "x", side) +
           row * (value_of(cells, "y", side) + rows * value_of(cells, "z", side));
  };
  copy.source = address(0);
  copy.target = address(1);
  copy.bytes = product(product(value_of(cells, "Width"), value_of(cells, "Height")),
                       value_of(cells, "Depth"));
  return copy;
}

/// Every "graph_3" that the label contains.
std::vector<std::string> children_of(std::string_view label) {
  constexpr std::string_view kPrefix = "graph_";
  std::vector<std::string> children;
  for (std::size_t at = label.find(kPrefix); at != std::string_view::npos;
       at = label.find(kPrefix, at + 1)) {
    std::size_t end = at + kPrefix.size();
    while (end < label.size() && label[end] >= '0' && label[end] <= '9') ++end;
    if (end > at + kPrefix.size()) children.emplace_back(label.substr(at, end - at));
  }
  return children;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

DotNode read_dot_label(std::string_view shape, std::string_view label) {
  // The keyword of the node's type: the first of a record, the second line of the short form.
  const bool record = trimmed(label).starts_with('{');
  std::string_view word = trimmed(label);
  if (record) {
    word = trimmed(word.substr(1));
    word = word.substr(0, word.find_first_of("\r\n|}"));
  } else {
    const std::size_t line = word.find('\n');
    word = line == std::string_view::npos ? std::string_view() : trimmed(word.substr(line));
    word = word.substr(0, word.find('\n'));
  }
  word = trimmed(word);
  if (shape == "octagon") return kernel_node(word, {}, false);

  DotNode result;
  for (const auto& [keyword, type] : kKeywords) {
    if (word == keyword) result.node.type = type;
  }
  if (result.node.type == NodeType::Kernel) return kernel_of_record(label);
  if (result.node.type == NodeType::Unknown && word.starts_with("graph_")) {
    result.node.type = NodeType::ChildGraph;
  }
  result.node.name = result.node.type == NodeType::Unknown ? engine::shown_text(word.substr(0, 100))
                                                           : std::string(name_of(result.node.type));
  switch (result.node.type) {
    case NodeType::Memset:
      result.node.parameters = memset_of(label);
      break;
    case NodeType::Memcpy:
      result.node.parameters = memcpy_of(label);
      break;
    case NodeType::MemAlloc: {
      const auto cells = groups(label);
      result.node.parameters =
          MemAllocNode{.address = value_of(cells, "dptr"), .bytes = value_of(cells, "bytesize")};
      break;
    }
    case NodeType::MemFree:
      result.node.parameters = MemFreeNode{.address = value_of(groups(label), "dptr")};
      break;
    case NodeType::ChildGraph:
    case NodeType::Conditional:
      result.children = children_of(label);
      break;
    default:
      break;
  }
  return result;
}

}  // namespace profiling
