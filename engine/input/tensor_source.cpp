// Opens the source of an operand from a request: checks sizes, with errors that name the control to
// change.
#include "engine/input/tensor_source.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/input/element_rounding.h"
#include "engine/input/synthetic.h"
#include "engine/input/tensor_choice.h"
#include "engine/input/tensor_file.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

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
    return fmt::format(
        "expert {}: {} is {} where expert 0 has {}; save all experts in the same "
        "format",
        expert, attribute, found, wanted);
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
      return Error{code, fmt::format("{}: '{}': {}", shown_path(input.path), name, what)};
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
                      .dtype = element_name(first),
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

namespace {

bool is_operand(StoredType type) {
  return type == StoredType::F32 || type == StoredType::F16 || type == StoredType::Bf16;
}

std::string integer_reason() { return "it holds integers; operands are F32, F16 or BF16"; }

/// Index of the tensor that the request names.
Result<std::size_t> pick_tensor(const TensorFile& file, const FileInput& input) {
  if (const auto index = chosen_tensor(file.tensors, input.tensor)) return *index;
  if (input.tensor.empty()) {
    return Error{
        ErrorCode::NotFound,
        fmt::format("{} holds {} tensors, the first is '{}': choose one of them",
                    shown_path(input.path), file.tensors.size(), file.tensors.front().name)};
  }
  return Error{
      ErrorCode::NotFound,
      fmt::format("{} has no tensor '{}'; it holds {}, the first is '{}'", shown_path(input.path),
                  input.tensor, file.tensors.size(), file.tensors.front().name)};
}

struct OperandShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::string wanted;  // as text, for the refusal
  std::string remedy;
};

OperandShape operand_shape(const ShapeSpec& shape, OperandRole role) {
  if (role == OperandRole::Gradients) {
    return {.rows = shape.rows,
            .columns = shape.n,
            .wanted = fmt::format("gradients need [rows = {}, n = {}]", shape.rows, shape.n),
            .remedy = "set rows and n to the tensor's"};
  }
  if (role == OperandRole::Activations) {
    return {.rows = shape.rows,
            .columns = shape.k,
            .wanted = fmt::format("activations need [rows = {}, k = {}]", shape.rows, shape.k),
            .remedy = "set rows and k to the tensor's"};
  }
  return {.rows = shape.num_experts * shape.n,
          .columns = shape.k,
          .wanted = fmt::format("weights need [{}, {}, {}] (experts, n, k) or [{}, {}]",
                                shape.num_experts, shape.n, shape.k, shape.num_experts * shape.n,
                                shape.k),
          .remedy = "set experts, n and k to the tensor's"};
}

bool fits(const std::vector<std::int64_t>& dimensions, const OperandShape& wanted,
          const ShapeSpec& shape, OperandRole role) {
  if (dimensions.size() == 2) {
    return dimensions[0] == wanted.rows && dimensions[1] == wanted.columns;
  }
  return role == OperandRole::Weights && dimensions.size() == 3 &&
         dimensions[0] == shape.num_experts && dimensions[1] == shape.n && dimensions[2] == shape.k;
}

Result<std::unique_ptr<TensorSource>> open_file_source(const FileInput& input,
                                                       const ShapeSpec& shape, OperandRole role) {
  ENGINE_ASSIGN(TensorFile opened, open_tensor_file(input.path, {.name = input.tensor}));
  const auto file = std::make_shared<const TensorFile>(std::move(opened));
  // A tensor may have {} in its own name.
  const bool named = std::ranges::any_of(
      file->tensors, [&](const StoredTensor& one) { return one.name == input.tensor; });
  if (!named && role == OperandRole::Weights &&
      input.tensor.find(kExpertPlace) != std::string::npos) {
    return open_listed_source(file, input, shape);
  }
  ENGINE_ASSIGN(const std::size_t index, pick_tensor(*file, input));
  const StoredTensor& tensor = file->tensors[index];
  const std::string label = tensor.name.empty()
                                ? shown_path(input.path)
                                : fmt::format("{}: '{}'", shown_path(input.path), tensor.name);
  if (!is_operand(tensor.type)) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} cannot be an operand: {}", label,
                    tensor.type == StoredType::Unusable ? tensor.reason : integer_reason())};
  }
  const OperandShape wanted = operand_shape(shape, role);
  if (role != OperandRole::Weights && tensor.shape.size() != 2) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is {} but {} need two dimensions, rows by {}: reshape it, or pick "
                             "another tensor",
                             label, shape_text(tensor.shape), name_of(role),
                             role == OperandRole::Gradients ? "n" : "k")};
  }
  if (!fits(tensor.shape, wanted, shape, role)) {
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} is {} but {}: {}, or pick another tensor", label,
                             shape_text(tensor.shape), wanted.wanted, wanted.remedy)};
  }
  return make_file_source(
      {.file = file, .index = index, .rows = wanted.rows, .columns = wanted.columns});
}

}  // namespace

const InputSpec& input_of(const RunRequest& request, OperandRole role) {
  switch (role) {
    case OperandRole::Weights:
      return request.weights;
    case OperandRole::Gradients:
      return request.products.gradients;
    case OperandRole::Activations:
      break;
  }
  return request.activations;
}

FileStamp file_stamp(const InputSpec& input) {
  const auto* file = std::get_if<FileInput>(&input);
  if (file == nullptr) return {};
  std::error_code unreadable;  // also a stamp: -1 bytes
  return {
      .bytes = static_cast<std::int64_t>(std::filesystem::file_size(file->path, unreadable)),
      .time = std::filesystem::last_write_time(file->path, unreadable).time_since_epoch().count()};
}

void TensorSource::read_fp16(std::int64_t first_row, std::int64_t count,
                             std::span<std::uint16_t> out) const {
  std::vector<float> row(static_cast<std::size_t>(columns()));
  std::uint16_t* target = out.data();
  for (std::int64_t i = 0; i < count; ++i) {
    read_f32(first_row + i, 1, row);
    target = std::transform(row.begin(), row.end(), target, fp16_bits);
  }
}

Result<std::unique_ptr<TensorSource>> open_source(const RunRequest& request, OperandRole role,
                                                  int layer) {
  if (is_expert_layer(request) && role == OperandRole::Gradients) {
    return open_source(projection_of(request, Projection::Down), role, layer);
  }
  const InputSpec& input = input_of(request, role);
  if (const auto* file = std::get_if<FileInput>(&input)) {
    return open_file_source(*file, request.shape, role);
  }
  const OperandShape shape = operand_shape(request.shape, role);
  return make_synthetic_source({.input = std::get<SyntheticInput>(input),
                                .role = role,
                                // All layers read the same X and the same dY.
                                .layer = role == OperandRole::Weights ? layer : 0,
                                .seed = request.seed,
                                .rows = shape.rows,
                                .columns = shape.columns});
}

Result<std::vector<TensorEntry>> inspect_file(const std::string& path) {
  ENGINE_ASSIGN(const TensorFile file, open_tensor_file(path, {.any = false}));
  std::vector<TensorEntry> entries;
  for (const StoredTensor& tensor : file.tensors) {
    TensorEntry entry;
    entry.name = tensor.name;
    entry.dtype = element_name(tensor);
    entry.shape = tensor.shape;
    entry.usable = is_operand(tensor.type);
    entry.integers = is_integer(tensor.type);
    if (tensor.type == StoredType::Unusable) {
      entry.reason = tensor.reason;
    } else if (entry.integers) {
      entry.reason = integer_reason();
    } else if (tensor.shape.size() != 2 && tensor.shape.size() != 3) {
      entry.usable = false;
      entry.reason = fmt::format(
          "it has {} dimensions; operands have 2, or 3 for weights by expert", tensor.shape.size());
    }
    entries.push_back(std::move(entry));
  }
  std::vector<TensorEntry> lists = tensor_lists(file);
  std::move(lists.begin(), lists.end(), std::back_inserter(entries));
  return entries;
}

}  // namespace engine
