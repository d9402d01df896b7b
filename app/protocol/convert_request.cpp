// Requests: the fields a person sets, in the order of engine/model/run_request.h.
#include "app/protocol/convert.h"
#include "app/protocol/convert_measurement.h"
#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"

namespace app {
namespace {

// The same numbers on both sides, so that a cast is the conversion. A reordered enum must not
// compile.
template <class Engine, class Wire>
constexpr bool same(Engine a, Wire b) {
  return static_cast<int>(a) == static_cast<int>(b);
}
static_assert(same(engine::ElementType::Bf16, wire::BF16) &&
              same(engine::ElementType::Fp16, wire::FP16) &&
              same(engine::ElementType::Fp32, wire::FP32));
static_assert(same(engine::Distribution::Normal, wire::NORMAL) &&
              same(engine::Distribution::Uniform, wire::UNIFORM) &&
              same(engine::Distribution::HeavyTailed, wire::HEAVY_TAILED) &&
              same(engine::Distribution::Zeros, wire::ZEROS) &&
              same(engine::Distribution::NonFinite, wire::NON_FINITE));
static_assert(same(engine::RoutingDistribution::Uniform, wire::ROUTING_UNIFORM) &&
              same(engine::RoutingDistribution::Mild, wire::ROUTING_MILD) &&
              same(engine::RoutingDistribution::Zipf, wire::ROUTING_ZIPF) &&
              same(engine::RoutingDistribution::Heavy, wire::ROUTING_HEAVY) &&
              same(engine::RoutingDistribution::OneHot, wire::ROUTING_ONE_HOT) &&
              same(engine::RoutingDistribution::HalfEmpty, wire::ROUTING_HALF_EMPTY) &&
              same(engine::RoutingDistribution::File, wire::ROUTING_FILE));
static_assert(same(engine::Scaling::None, wire::SCALING_NONE) &&
              same(engine::Scaling::PerTensorCurrent, wire::PER_TENSOR_CURRENT) &&
              same(engine::Scaling::Block, wire::BLOCK) &&
              same(engine::Scaling::PerTensorDelayed, wire::PER_TENSOR_DELAYED) &&
              same(engine::Scaling::Mxfp8, wire::MXFP8) &&
              same(engine::Scaling::Nvfp4, wire::NVFP4));
static_assert(same(kernels::AmaxAlgorithm::MostRecent, wire::AMAX_MOST_RECENT) &&
              same(kernels::AmaxAlgorithm::Max, wire::AMAX_MAX));
static_assert(same(QuantizeDirections::Rowwise, wire::DIRECTIONS_ROWWISE) &&
              same(QuantizeDirections::Columnwise, wire::DIRECTIONS_COLUMNWISE) &&
              same(QuantizeDirections::Both, wire::DIRECTIONS_BOTH));
static_assert(same(engine::Fp8Format::E4m3, wire::E4M3) &&
              same(engine::Fp8Format::E5m2, wire::E5M2));
static_assert(same(engine::WorkspaceStrategy::PerMatmul, wire::PER_MATMUL) &&
              same(engine::WorkspaceStrategy::Shared, wire::SHARED) &&
              same(engine::WorkspaceStrategy::PerLayout, wire::PER_LAYOUT) &&
              same(engine::WorkspaceStrategy::PerCall, wire::PER_CALL));
static_assert(same(engine::SetupArrays::PerMatmul, wire::SETUP_PER_MATMUL) &&
              same(engine::SetupArrays::Shared, wire::SETUP_SHARED));
static_assert(same(engine::StepPasses::Forward, wire::FORWARD) &&
              same(engine::StepPasses::Backward, wire::BACKWARD) &&
              same(engine::StepPasses::ForwardBackward, wire::FORWARD_BACKWARD));
static_assert(same(engine::WeightStorage::Grouped, wire::WEIGHTS_GROUPED) &&
              same(engine::WeightStorage::List, wire::WEIGHTS_LIST));
static_assert(same(engine::LaunchKind::Eager, wire::EAGER) &&
              same(engine::LaunchKind::GraphReplay, wire::GRAPH_REPLAY));
static_assert(same(engine::GemmBackend::CublasLtGrouped, wire::CUBLASLT_GROUPED) &&
              same(engine::GemmBackend::CpuReference, wire::CPU_REFERENCE) &&
              same(engine::GemmBackend::CublasLtPerExpert, wire::CUBLASLT_PER_EXPERT));
static_assert(same(engine::OperandRole::Activations, wire::OPERAND_ACTIVATIONS) &&
              same(engine::OperandRole::Weights, wire::OPERAND_WEIGHTS) &&
              same(engine::OperandRole::Gradients, wire::OPERAND_GRADIENTS));

template <class Wire, class Engine>
Wire cast(Engine value) {
  return static_cast<Wire>(static_cast<int>(value));
}

void set_input(wire::InputSpec& out, const engine::InputSpec& input) {
  if (const auto* file = std::get_if<engine::FileInput>(&input)) {
    out.mutable_file()->set_path(wire_text(file->path));
    out.mutable_file()->set_tensor(wire_text(file->tensor));
    return;
  }
  const auto& synthetic = std::get<engine::SyntheticInput>(input);
  out.mutable_synthetic()->set_distribution(cast<wire::Distribution>(synthetic.distribution));
  out.mutable_synthetic()->set_element(cast<wire::ElementType>(synthetic.element));
}

engine::InputSpec read_input(const wire::InputSpec& message, const std::string& field,
                             FieldCheck& check) {
  if (message.kind_case() == wire::InputSpec::kFile) {
    return engine::FileInput{.path = message.file().path(), .tensor = message.file().tensor()};
  }
  engine::SyntheticInput synthetic;
  const wire::SyntheticInput& given = message.synthetic();
  if (given.has_distribution()) {
    check.enumerator(synthetic.distribution, given.distribution(), wire::Distribution_IsValid,
                     field + ".synthetic.distribution");
  }
  if (given.has_element()) {
    check.enumerator(synthetic.element, given.element(), wire::ElementType_IsValid,
                     field + ".synthetic.element");
  }
  return synthetic;
}

}  // namespace

wire::Recipe to_wire(const engine::Recipe& recipe) {
  wire::Recipe out;
  out.set_scaling(cast<wire::Scaling>(recipe.scaling));
  out.set_activation_format(cast<wire::Fp8Format>(recipe.activation_format));
  out.set_pow2_scales(recipe.pow2_scales);
  out.set_amax_epsilon(recipe.amax_epsilon);
  out.set_split_accumulator(recipe.split_accumulator);
  out.mutable_delayed()->set_history_length(recipe.delayed.history_length);
  out.mutable_delayed()->set_algorithm(cast<wire::AmaxAlgorithm>(recipe.delayed.algorithm));
  out.mutable_delayed()->set_margin(recipe.delayed.margin);
  out.set_square_weight_blocks(recipe.square_weight_blocks);
  out.set_hadamard(recipe.hadamard);
  out.set_stochastic_rounding(recipe.stochastic_rounding);
  out.set_high_precision(cast<wire::ElementType>(recipe.high_precision));
  out.set_gradient_format(cast<wire::Fp8Format>(recipe.gradient_format));
  out.set_square_activation_blocks(recipe.square_activation_blocks);
  out.set_square_gradient_blocks(recipe.square_gradient_blocks);
  return out;
}

engine::Recipe read_recipe(const wire::Recipe& message, FieldCheck& check) {
  engine::Recipe recipe;
  if (message.has_scaling()) {
    check.enumerator(recipe.scaling, message.scaling(), wire::Scaling_IsValid, "recipe.scaling");
  }
  if (message.has_activation_format()) {
    check.enumerator(recipe.activation_format, message.activation_format(), wire::Fp8Format_IsValid,
                     "recipe.activation_format");
  }
  if (message.has_pow2_scales()) recipe.pow2_scales = message.pow2_scales();
  if (message.has_amax_epsilon()) recipe.amax_epsilon = message.amax_epsilon();
  if (message.has_split_accumulator()) recipe.split_accumulator = message.split_accumulator();
  const wire::DelayedScaling& delayed = message.delayed();
  if (delayed.has_history_length()) recipe.delayed.history_length = delayed.history_length();
  if (delayed.has_algorithm()) {
    check.enumerator(recipe.delayed.algorithm, delayed.algorithm(), wire::AmaxAlgorithm_IsValid,
                     "recipe.delayed.algorithm");
  }
  if (delayed.has_margin()) recipe.delayed.margin = delayed.margin();
  if (message.has_square_weight_blocks()) {
    recipe.square_weight_blocks = message.square_weight_blocks();
  }
  if (message.has_hadamard()) recipe.hadamard = message.hadamard();
  if (message.has_stochastic_rounding()) recipe.stochastic_rounding = message.stochastic_rounding();
  if (message.has_high_precision()) {
    check.enumerator(recipe.high_precision, message.high_precision(), wire::ElementType_IsValid,
                     "recipe.high_precision");
  }
  if (message.has_gradient_format()) {
    check.enumerator(recipe.gradient_format, message.gradient_format(), wire::Fp8Format_IsValid,
                     "recipe.gradient_format");
  }
  if (message.has_square_activation_blocks()) {
    recipe.square_activation_blocks = message.square_activation_blocks();
  }
  if (message.has_square_gradient_blocks()) {
    recipe.square_gradient_blocks = message.square_gradient_blocks();
  }
  return recipe;
}

namespace {

void set_linear(wire::LinearOptions& out, const engine::LinearOptions& linear) {
  out.set_passes(cast<wire::StepPasses>(linear.passes));
  set_input(*out.mutable_gradients(), linear.gradients);
  out.set_bias(linear.bias);
  out.set_weight_storage(cast<wire::WeightStorage>(linear.weight_storage));
  out.set_wgrad_type(cast<wire::ElementType>(linear.wgrad_type));
  out.set_accumulate_wgrad(linear.accumulate_wgrad);
  out.set_delayed_wgrad(linear.delayed_wgrad);
  out.set_micro_batches(linear.micro_batches);
}

engine::LinearOptions read_linear(const wire::LinearOptions& message, FieldCheck& check) {
  engine::LinearOptions linear;
  if (message.has_passes()) {
    check.enumerator(linear.passes, message.passes(), wire::StepPasses_IsValid, "linear.passes");
  }
  linear.gradients = read_input(message.gradients(), "linear.gradients", check);
  if (message.has_bias()) linear.bias = message.bias();
  if (message.has_weight_storage()) {
    check.enumerator(linear.weight_storage, message.weight_storage(), wire::WeightStorage_IsValid,
                     "linear.weight_storage");
  }
  if (message.has_wgrad_type()) {
    check.enumerator(linear.wgrad_type, message.wgrad_type(), wire::ElementType_IsValid,
                     "linear.wgrad_type");
  }
  if (message.has_accumulate_wgrad()) linear.accumulate_wgrad = message.accumulate_wgrad();
  if (message.has_delayed_wgrad()) linear.delayed_wgrad = message.delayed_wgrad();
  if (message.has_micro_batches()) linear.micro_batches = message.micro_batches();
  return linear;
}

}  // namespace

wire::RunRequest to_wire(const engine::RunRequest& request) {
  wire::RunRequest out;
  wire::ShapeSpec& shape = *out.mutable_shape();
  shape.set_preset(wire_text(request.shape.preset));
  shape.set_num_experts(request.shape.num_experts);
  shape.set_tokens(request.shape.tokens);
  shape.set_n(request.shape.n);
  shape.set_k(request.shape.k);
  wire::RoutingSpec& routing = *out.mutable_routing();
  routing.set_distribution(cast<wire::RoutingDistribution>(request.routing.distribution));
  routing.set_path(wire_text(request.routing.path));
  routing.set_alignment(request.routing.alignment);
  set_input(*out.mutable_activations(), request.activations);
  set_input(*out.mutable_weights(), request.weights);
  *out.mutable_recipe() = to_wire(request.recipe);
  out.set_backend(cast<wire::GemmBackend>(request.backend));
  out.set_workspace(cast<wire::WorkspaceStrategy>(request.workspace));
  out.mutable_launch()->set_kind(cast<wire::LaunchKind>(request.launch.kind));
  out.mutable_launch()->set_iterations(request.launch.iterations);
  out.mutable_launch()->set_deadline_factor(request.launch.deadline_factor);
  out.mutable_launch()->set_markers(request.launch.markers);
  out.set_layers(request.layers);
  out.set_seed(request.seed);
  out.set_cublaslt_library(wire_text(request.cublaslt_library));
  set_linear(*out.mutable_linear(), request.linear);
  out.set_streams(request.streams);
  out.set_setup_arrays(cast<wire::SetupArrays>(request.setup_arrays));
  out.set_try_algorithms(request.try_algorithms);
  out.set_programmatic_launch(request.programmatic_launch);
  out.set_int32_splits(request.int32_splits);
  set_measure(*out.mutable_measure(), request.measure);
  return out;
}

engine::Result<engine::RunRequest> from_wire(const wire::RunRequest& message) {
  FieldCheck check;
  engine::RunRequest request;
  const wire::ShapeSpec& shape = message.shape();
  request.shape.preset = shape.preset();
  if (shape.has_num_experts()) request.shape.num_experts = shape.num_experts();
  if (shape.has_tokens()) request.shape.tokens = shape.tokens();
  if (shape.has_n()) request.shape.n = shape.n();
  if (shape.has_k()) request.shape.k = shape.k();
  const wire::RoutingSpec& routing = message.routing();
  if (routing.has_distribution()) {
    check.enumerator(request.routing.distribution, routing.distribution(),
                     wire::RoutingDistribution_IsValid, "routing.distribution");
  }
  request.routing.path = routing.path();
  if (routing.has_alignment()) request.routing.alignment = routing.alignment();
  request.activations = read_input(message.activations(), "activations", check);
  request.weights = read_input(message.weights(), "weights", check);
  request.recipe = read_recipe(message.recipe(), check);
  if (message.has_backend()) {
    check.enumerator(request.backend, message.backend(), wire::GemmBackend_IsValid, "backend");
  }
  if (message.has_workspace()) {
    check.enumerator(request.workspace, message.workspace(), wire::WorkspaceStrategy_IsValid,
                     "workspace");
  }
  if (message.launch().has_kind()) {
    check.enumerator(request.launch.kind, message.launch().kind(), wire::LaunchKind_IsValid,
                     "launch.kind");
  }
  if (message.launch().has_iterations()) request.launch.iterations = message.launch().iterations();
  if (message.launch().has_deadline_factor()) {
    request.launch.deadline_factor = message.launch().deadline_factor();
  }
  if (message.launch().has_markers()) request.launch.markers = message.launch().markers();
  if (message.has_layers()) request.layers = message.layers();
  if (message.has_seed()) request.seed = message.seed();
  request.cublaslt_library = message.cublaslt_library();
  request.linear = read_linear(message.linear(), check);
  if (message.has_streams()) request.streams = message.streams();
  if (message.has_setup_arrays()) {
    check.enumerator(request.setup_arrays, message.setup_arrays(), wire::SetupArrays_IsValid,
                     "setup_arrays");
  }
  if (message.has_try_algorithms()) request.try_algorithms = message.try_algorithms();
  if (message.has_programmatic_launch()) {
    request.programmatic_launch = message.programmatic_launch();
  }
  if (message.has_int32_splits()) request.int32_splits = message.int32_splits();
  request.measure = read_measure(message.measure(), check);
  return check.result(std::move(request));
}

wire::QuantizeCommand to_wire(const QuantizeOrder& order) {
  wire::QuantizeCommand out;
  *out.mutable_request() = to_wire(order.request);
  out.set_operand(cast<wire::Operand>(order.operand));
  out.set_folder(wire_text(order.folder));
  out.set_directions(cast<wire::Directions>(order.directions));
  return out;
}

engine::Result<QuantizeOrder> from_wire(const wire::QuantizeCommand& message) {
  FieldCheck check;
  QuantizeOrder order;
  engine::Result<engine::RunRequest> request = from_wire(message.request());
  if (!request.ok()) return request.error();
  order.request = std::move(request).value();
  check.enumerator(order.operand, message.operand(), wire::Operand_IsValid, "operand");
  order.folder = message.folder();
  check.enumerator(order.directions, message.directions(), wire::Directions_IsValid, "directions");
  return check.result(std::move(order));
}

}  // namespace app
