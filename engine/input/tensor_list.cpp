#include "engine/input/tensor_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace engine {
namespace {

std::string name_of(std::string_view list, std::int64_t expert) {
  const std::size_t place = list.find(kExpertPlace);
  return fmt::format("{}{}{}", list.substr(0, place), expert,
                     list.substr(place + kExpertPlace.size()));
}

bool is_operand(const StoredTensor& tensor) {
  return tensor.type == StoredType::F32 || tensor.type == StoredType::F16 ||
         tensor.type == StoredType::Bf16;
}

/// Why the tensor of `expert` does not fit a list that starts with `first`; empty if it does.
std::string difference(const StoredTensor& first, const StoredTensor& tensor, std::int64_t expert) {
  const auto sentence = [&](const char* attribute, const std::string& found,
                            const std::string& wanted) {
    return fmt::format("expert {}: {} is {} where expert 0 has {}; save all experts alike", expert,
                       attribute, found, wanted);
  };
  if (tensor.type != first.type) return sentence("the element type", tensor.dtype, first.dtype);
  if (tensor.shape != first.shape) {
    return sentence("the shape", shape_text(tensor.shape), shape_text(first.shape));
  }
  return {};
}

class ListedSource final : public TensorSource {
 public:
  ListedSource(std::vector<std::unique_ptr<TensorSource>> experts) : experts_(std::move(experts)) {}

  ElementType element() const override { return experts_.front()->element(); }
  std::int64_t rows() const override { return rows_each() * std::ssize(experts_); }
  std::int64_t columns() const override { return experts_.front()->columns(); }

  void read_f32(std::int64_t first_row, std::int64_t count, std::span<float> out) const override {
    each(first_row, count, out,
         [](const TensorSource& expert, auto... range) { expert.read_f32(range...); });
  }
  void read_bf16(std::int64_t first_row, std::int64_t count,
                 std::span<std::uint16_t> out) const override {
    each(first_row, count, out,
         [](const TensorSource& expert, auto... range) { expert.read_bf16(range...); });
  }

 private:
  std::int64_t rows_each() const { return experts_.front()->rows(); }

  /// Splits the rows at the experts' boundaries.
  template <class Value, class Read>
  void each(std::int64_t row, std::int64_t count, std::span<Value> out, Read read) const {
    const std::int64_t end = row + count;
    while (row < end) {
      const std::int64_t expert = row / rows_each();
      const std::int64_t first = row - expert * rows_each();
      const std::int64_t taken = std::min(rows_each() - first, end - row);
      const auto values = static_cast<std::size_t>(taken * columns());
      read(*experts_[static_cast<std::size_t>(expert)], first, taken, out.first(values));
      out = out.subspan(values);
      row += taken;
    }
  }

  std::vector<std::unique_ptr<TensorSource>> experts_;
};

struct NumberedName {
  std::string list;  // with kExpertPlace
  std::int64_t number = 0;
};

/// Nothing for a name without a number between its dots.
std::optional<NumberedName> numbered(std::string_view name) {
  std::size_t end = name.size();
  while (true) {
    const std::size_t dot = end == 0 ? std::string_view::npos : name.rfind('.', end - 1);
    const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
    const std::string_view part = name.substr(begin, end - begin);
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    const bool plain = part.size() == 1 || (part.size() > 1 && part.front() != '0');
    if (error == std::errc() && stop == part.data() + part.size() && plain && number >= 0) {
      return NumberedName{
          fmt::format("{}{}{}", name.substr(0, begin), kExpertPlace, name.substr(end)), number};
    }
    if (dot == std::string_view::npos) return std::nullopt;
    end = dot;
  }
}

}  // namespace

Result<std::unique_ptr<TensorSource>> open_listed_source(std::shared_ptr<const TensorFile> file,
                                                         const FileInput& input,
                                                         const ShapeSpec& shape) {
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t i = 0; i < file->tensors.size(); ++i) by_name.emplace(file->tensors[i].name, i);
  std::vector<std::unique_ptr<TensorSource>> experts;
  const StoredTensor* first = nullptr;
  for (std::int64_t expert = 0; expert < shape.num_experts; ++expert) {
    const std::string name = name_of(input.tensor, expert);
    const auto refuse = [&](ErrorCode code, const std::string& what) {
      return Error{code, fmt::format("{}: '{}': {}", input.path, name, what)};
    };
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      return refuse(ErrorCode::NotFound,
                    fmt::format("the file has no tensor for expert {} of {}; set experts to what "
                                "it has, or pick another list",
                                expert, shape.num_experts));
    }
    const StoredTensor& tensor = file->tensors[found->second];
    if (!is_operand(tensor)) {
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("expert {}: the element type is {} where F32, F16 or BF16 is "
                                "needed; convert it",
                                expert, tensor.dtype));
    }
    if (first == nullptr) first = &tensor;
    if (const std::string other = difference(*first, tensor, expert); !other.empty()) {
      return refuse(ErrorCode::InvalidArgument, other);
    }
    if (tensor.shape != std::vector<std::int64_t>{shape.n, shape.k}) {
      return refuse(ErrorCode::InvalidArgument,
                    fmt::format("expert {}: the shape is {} where [n = {}, k = {}] is needed; set "
                                "n and k to the tensor's, or pick another list",
                                expert, shape_text(tensor.shape), shape.n, shape.k));
    }
    experts.push_back(make_file_source(
        {.file = file, .index = found->second, .rows = shape.n, .columns = shape.k}));
  }
  return std::unique_ptr<TensorSource>(std::make_unique<ListedSource>(std::move(experts)));
}

std::vector<TensorEntry> tensor_lists(const TensorFile& file) {
  std::map<std::string, std::map<std::int64_t, const StoredTensor*>> lists;
  for (const StoredTensor& tensor : file.tensors) {
    if (std::optional<NumberedName> name = numbered(tensor.name)) {
      lists[std::move(name->list)].emplace(name->number, &tensor);
    }
  }
  std::vector<TensorEntry> entries;
  for (const auto& [list, members] : lists) {
    const auto count = std::ssize(members);
    const bool whole = members.begin()->first == 0 && members.rbegin()->first == count - 1;
    const StoredTensor& first = *members.begin()->second;
    if (count < 2 || !whole || first.shape.size() != 2 || !is_operand(first)) continue;
    TensorEntry entry{.name = list,
                      .dtype = first.dtype,
                      .shape = {count, first.shape[0], first.shape[1]},
                      .usable = true,
                      .reason = {}};
    for (const auto& [number, tensor] : members) {
      entry.reason = difference(first, *tensor, number);
      if (entry.reason.empty()) continue;
      entry.usable = false;
      break;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace engine
