// The fix for each hazard, as code for users of three libraries. Only existing calls; names in
// capitals or with "my_" are placeholders.
#include <string_view>

#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

struct RuleFix {
  std::string_view rule;
  std::string_view words;
  std::string_view cublaslt;
  std::string_view pytorch;
  std::string_view transformer_engine;
};

constexpr std::string_view kPrivatePool =
    "graph = torch.cuda.CUDAGraph()\n"
    "with torch.cuda.graph(graph):   # its own pool\n"
    "    y = step(static_x)\n"
    "static_x.copy_(x)               # static_x = x would not reach the graph\n"
    "graph.replay()\n"
    "keep = (graph, static_x, y)     # as long as it is replayed";

constexpr RuleFix kFixes[] = {
    {"shared-workspace",
     "Give every captured grouped matmul its own workspace, and keep it as long as the graph. A "
     "newer cuBLASLt (13.6.1 or later was correct here) also fixes it.",
     "// One buffer per captured call, not one per handle.\n"
     "void* workspace = my_workspaces[call];\n"
     "cublasLtMatmul(handle, desc, &alpha, A, a, B, b, &beta, C, c, D, d, &algo,\n"
     "               workspace, workspace_bytes, stream);",
     "# pip install a correct cuBLAS version, then check what is loaded:\n"
     "#   pip install -U nvidia-cublas\n"
     "# or keep grouped matmuls of one workspace in separate graphs:\n"
     "with torch.cuda.graph(fprop_graph): y = grouped_fprop(x)\n"
     "with torch.cuda.graph(wgrad_graph): dw = grouped_wgrad(x, dy)",
     "# Transformer Engine keeps one workspace per layout (TN, NN, NT). Products of one layout\n"
     "# still share: capture them as separate callables, or update cuBLAS.\n"
     "fc1, fc2 = te.make_graphed_callables((fc1, fc2), ((x1,), (x2,)))"},
    {"freed-memory",
     "Memory that a graph uses must live as long as the graph: allocate the largest size before "
     "the capture, copy new inputs into it instead of replacing it, and free it after the graph is "
     "destroyed.",
     "cudaMalloc(&workspace, largest_bytes);       // before cudaStreamBeginCapture\n"
     "...\n"
     "cudaGraphExecDestroy(exec);\n"
     "cudaFree(workspace);                         // only then",
     kPrivatePool,
     "# Warm up with the largest batch so that no workspace grows during the capture.\n"
     "module = te.make_graphed_callables(module, (largest_x,), num_warmup_iters=3)"},
    {"pool-alias",
     "Keep the block that the earlier graph uses until the later graph is captured and both are "
     "destroyed, or capture both graphs with pools that do not reuse it.",
     "// Free nothing that a captured graph holds before the next capture.\n"
     "capture(forward); capture(backward);\n"
     "cudaGraphExecDestroy(forward_exec); cudaGraphExecDestroy(backward_exec);\n"
     "cudaFree(saved_activation);",
     "with torch.cuda.graph(forward_graph):\n"
     "    y = forward(static_x)            # keep y and everything that backward reads\n"
     "with torch.cuda.graph(backward_graph):   # no pool= of forward_graph\n"
     "    dx = torch.autograd.grad(y, static_x, static_dy)",
     "# One call captures forward and backward in the order in which they run.\n"
     "module = te.make_graphed_callables(module, (x,))"},
    {"freed-between-graphs",
     "Keep what one graph leaves for another until every graph that reads it is captured, and as "
     "long as they are replayed.",
     "capture(forward, &saved_activation);\n"
     "capture(backward, &saved_activation);       // still allocated\n"
     "...\n"
     "cudaGraphExecDestroy(forward_exec); cudaGraphExecDestroy(backward_exec);\n"
     "cudaFree(saved_activation);                 // only then",
     "with torch.cuda.graph(forward_graph):\n"
     "    y = forward(static_x)\n"
     "kept = (y, my_saved_tensors)             # not only inside the block above\n"
     "with torch.cuda.graph(backward_graph, pool=forward_graph.pool()):\n"
     "    dx = torch.autograd.grad(y, static_x, static_dy, retain_graph=True)",
     "# One call captures both and keeps what backward needs between them.\n"
     "module = te.make_graphed_callables(module, (x,))"},
    {"overlapping-graphs",
     "Give every graph that is replayed at the same time as another its own workspace, or let the "
     "later replay wait for the earlier one.",
     "// A workspace belongs to a stream, and setting the stream resets it:\n"
     "cublasSetStream(handle, stream);\n"
     "cublasSetWorkspace(handle, workspace_of(stream), workspace_bytes);\n"
     "// or: order the replays\n"
     "cudaGraphLaunch(first, stream); cudaEventRecord(done, stream);\n"
     "cudaStreamWaitEvent(side, done, 0); cudaGraphLaunch(second, side);",
     "# cuBLAS workspaces are kept per stream: capture on the stream of the replay.\n"
     "with torch.cuda.graph(experts, stream=main): y = routed_experts(x)\n"
     "with torch.cuda.graph(shared, stream=side): z = shared_expert(x)   # a pool of its own",
     "# Workspaces of grouped products are shared by all calls: order the replays instead.\n"
     "side.wait_stream(torch.cuda.current_stream())"},
    {"replay-order",
     "Graphs that share a pool are right in the order of their captures only: capture in the order "
     "in which the step replays, or give every micro-batch in flight a pool of its own.",
     "// Micro-batches in flight need what they save at the same time: a set for each.\n"
     "for (int m = 0; m < in_flight; ++m) capture(forward[m], saved[m]);\n"
     "for (int m = 0; m < in_flight; ++m) capture(backward[m], saved[m]);",
     "pool = torch.cuda.graph_pool_handle()\n"
     "for m in range(in_flight):               # as the schedule replays them\n"
     "    with torch.cuda.graph(forward[m], pool=pool): y[m] = model(x[m])\n"
     "for m in range(in_flight):\n"
     "    with torch.cuda.graph(backward[m], pool=pool): y[m].backward(dy[m])",
     "# The order of the captures is the schedule's: here two forwards, then two backwards.\n"
     "module = te.make_graphed_callables((module,), (sample, sample), _order=[1, 1, -1, -1])"},
    {"baked-index",
     "What differs between the launches of one graph must not be an argument: capture a graph for "
     "each, or keep the index in device memory and read it in the kernel.",
     "// In the kernel, from device memory that the host sets before each launch:\n"
     "const int expert = *expert_index;\n"
     "const float scale = scales[expert];",
     "graphs = [capture(e) for e in range(num_experts)]   # amax[e] and scale[e] of each\n"
     "for e, graph in enumerate(graphs):\n"
     "    static_x[e].copy_(rows[e]); graph.replay()",
     "# Every module has its own amax and scale: graph each of them, do not reuse one's graph.\n"
     "experts = te.make_graphed_callables(tuple(experts), tuple((x,) for _ in experts))"},
    {"host-array",
     "Build the array on the device, by a kernel in the graph or once before it. If it must come "
     "from the host, keep the host's array unchanged as long as the graph.",
     "// Device arrays, written by your own kernel in the same graph:\n"
     "fill_pointers<<<1, num_groups, 0, stream>>>(device_pointers, base, device_offsets);",
     "# Offsets as a device tensor that is updated in place:\n"
     "offs.copy_(torch.cumsum(m_sizes, 0))\n"
     "y = torch._grouped_mm(x, w, offs=offs)",
     "# Pass splits as a device tensor where the module takes one; a Python list is read once,\n"
     "# at capture."},
    {"dead-host-source",
     "A captured copy reads its host memory again in every replay: copy before the capture, or "
     "from pinned memory that stays unchanged as long as the graph.",
     "cudaMallocHost(&source, bytes);     // kept until the graph is destroyed\n"
     "cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream);",
     "staging = torch.empty_like(host_x, pin_memory=True)   # kept alongside the graph\n"
     "static_x.copy_(staging, non_blocking=True)            # outside of torch.cuda.graph",
     "# Copy into the graphed callable's sample arguments before calling it, not inside it."},
    {"baked-scalar",
     "A value passed by value is fixed at capture: keep it in device memory and pass its address, "
     "or update the graph before a replay.",
     "cublasLtPointerMode_t mode = CUBLASLT_POINTER_MODE_DEVICE;\n"
     "cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode, sizeof "
     "mode);\n"
     "// and pass device addresses of alpha and beta",
     "scale = torch.ones((), device=\"cuda\")   # not a Python float\n"
     "with torch.cuda.graph(graph): y.copy_(x * scale)\n"
     "scale.fill_(0.5); graph.replay()",
     "# Values that change between steps are tensors:\n"
     "optimizer = torch.optim.AdamW(params, lr=torch.tensor(1e-3, device=\"cuda\"), "
     "capturable=True)"},
    {"baked-launch",
     "The launch depends on numbers that were on the host at capture: launch for the capacity and "
     "let kernels read the splits on the device, or capture one graph per size.",
     "// Grid from capacity, rows from device memory:\n"
     "const dim3 grid(max_tiles, num_groups);\n"
     "kernel<<<grid, 256, 0, stream>>>(device_row_offsets, ...);",
     "graphs = {m: capture(m) for m in (128, 256, 512)}   # pad to the next size\n"
     "graphs[padded(m)].replay()",
     "# m_splits given as a list are fixed at capture: capture one callable per set of splits,\n"
     "# or leave the grouped layers out of the graph."},
    {"frozen-value",
     "Keep a value that changes between replays in device memory and pass its address, update the "
     "node before each replay, or capture again.",
     "// In the kernel: const unsigned long long seed = *device_seed;\n"
     "cudaMemcpyAsync(device_seed, &seed, sizeof seed, cudaMemcpyHostToDevice, stream);\n"
     "cudaGraphLaunch(exec, stream);",
     "seed = torch.zeros((), dtype=torch.int64, device=\"cuda\")   # not a Python int\n"
     "with torch.cuda.graph(graph): my_kernel(x, seed)\n"
     "seed.add_(1); graph.replay()\n"
     "# A generator of your own: graph.register_generator_state(generator)",
     "# Random states that layers use belong to the graph's: register each tracked generator\n"
     "module = te.make_graphed_callables(module, (x,))   # states of the tracker are registered"},
    {"used-after-free-node",
     "Free memory in a graph after everything that uses it: enqueue the free behind the last use, "
     "and join side streams before it.",
     "kernel<<<grid, block, 0, side>>>(scratch);\n"
     "cudaEventRecord(done, side);\n"
     "cudaStreamWaitEvent(stream, done);           // before the free\n"
     "cudaFreeAsync(scratch, stream);",
     "scratch.record_stream(side)                  # or: "
     "torch.cuda.current_stream().wait_stream(side)\n"
     "del scratch",
     "# The same as for PyTorch: what a side stream uses must be joined before it is freed."},
    {"stale-input",
     "Copy new data into the buffer that was captured; a graph never follows a pointer of the "
     "host.",
     "cudaMemcpyAsync(captured_input, batch, bytes, cudaMemcpyDefault, stream);\n"
     "cudaGraphLaunch(exec, stream);",
     "static_x.copy_(batch)        # not static_x = batch\n"
     "graph.replay()",
     "# make_graphed_callables copies its arguments itself: pass new data as arguments,\n"
     "# not through attributes of the module."},
    {"carried-over",
     "Clear inside the graph what every replay should begin without, before the kernels that use "
     "it.",
     "cudaMemsetAsync(state, 0, state_bytes, stream);   // captured, before its first use\n"
     "kernel<<<grid, block, 0, stream>>>(..., state);",
     "with torch.cuda.graph(graph):\n"
     "    total.zero_()            # captured with the rest\n"
     "    total += step(x)",
     "# Nothing to set here; for your own kernels next to Transformer Engine see PyTorch."},
    {"unreset-counter",
     "Clear the counter inside the graph before the kernels that use it, or let the last block "
     "reset it.",
     "cudaMemsetAsync(counter, 0, counter_bytes, stream);   // captured, before the kernel\n"
     "kernel<<<grid, block, 0, stream>>>(..., counter);",
     "with torch.cuda.graph(graph):\n"
     "    counter.zero_()          # captured with the rest\n"
     "    my_kernel(x, counter)",
     "# Nothing to set here; for your own kernels next to Transformer Engine see PyTorch."},
    {"unfreed-allocation",
     "Free what the graph allocates inside the graph, allocate before the capture, or instantiate "
     "so that a launch frees it first.",
     "cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);\n"
     "// or, under capture: cudaFreeAsync(pointer, stream);",
     "# PyTorch's own allocator makes no such nodes. For an extension that calls\n"
     "# cudaMallocAsync: allocate with torch.empty(...) instead.",
     "# Nothing to set here; for extensions next to Transformer Engine see PyTorch."},
    {"programmatic-without-wait",
     "The consumer must wait before it reads what the producer writes, or the launch attribute "
     "must go.",
     "__global__ void consumer(...) {\n"
     "  cudaGridDependencySynchronize();   // before the first read of the producer's output\n"
     "  ...\n"
     "}",
     "# Triton: launch_pdl=True needs tl.extra.cuda.gdc_wait() before the first dependent load.\n"
     "my_kernel[grid](x, y, launch_pdl=False)",
     "# Nothing to set here; for your own kernels next to Transformer Engine see PyTorch."},
    {"unordered-access",
     "Let the second branch wait for the first: an event recorded after the writer and waited for "
     "before the reader becomes an edge of the graph.",
     "cudaEventRecord(written, writer_stream);\n"
     "cudaStreamWaitEvent(reader_stream, written, 0);",
     "side.wait_stream(torch.cuda.current_stream())   # after the writer\n"
     "with torch.cuda.stream(side): y = reader(h)\n"
     "torch.cuda.current_stream().wait_stream(side)",
     "# For your own streams around Transformer Engine modules see PyTorch."},
    {"unjoined-capture",
     "Every stream that was forked into the capture must be joined to the capturing one before the "
     "capture ends.",
     "cudaEventRecord(done, side_stream);\n"
     "cudaStreamWaitEvent(stream, done, 0);\n"
     "cudaStreamEndCapture(stream, &graph);",
     "with torch.cuda.graph(graph):\n"
     "    side.wait_stream(torch.cuda.current_stream())\n"
     "    with torch.cuda.stream(side): y = branch(x)\n"
     "    torch.cuda.current_stream().wait_stream(side)   # before the block ends",
     "# For your own streams around Transformer Engine modules see PyTorch."},
    {"lazy-load",
     "Load the kernels before the capture: run the step once, or load all of them at the "
     "start.",
     "setenv(\"CUDA_MODULE_LOADING\", \"EAGER\", 1);   // before the first CUDA call\n"
     "step(stream); cudaStreamSynchronize(stream);   // or once, before the capture",
     "for _ in range(3): step(static_x)   # on a side stream, same shapes as the capture\n"
     "torch.cuda.synchronize()",
     "module = te.make_graphed_callables(module, (x,), num_warmup_iters=3)"},
    {"sync-in-capture",
     "Nothing may wait for the device during a capture: move it out, or skip it while capturing.",
     "cudaStreamCaptureStatus status;\n"
     "cudaStreamIsCapturing(stream, &status);\n"
     "if (status == cudaStreamCaptureStatusNone) cudaStreamSynchronize(stream);",
     "if not torch.cuda.is_current_stream_capturing():\n"
     "    torch.cuda.synchronize()     # and no .item(), .tolist(), .cpu()",
     "# Splits as a Python list need a .tolist() of the router's counts: do it before the\n"
     "# graphed part."},
    {"other-thread-in-capture",
     "Capture in thread-local mode, which restricts the capturing thread only; or keep other "
     "threads from allocating "
     "and waiting while a capture is under way.",
     "cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);",
     "with torch.cuda.graph(graph, capture_error_mode=\"thread_local\"): y = step(static_x)",
     "# make_graphed_callables captures in global mode: stop data loaders and checkpoint threads "
     "that\n"
     "# use CUDA until it has returned."},
    {"unloaded-module",
     "Keep modules loaded as long as a graph that launches their kernels exists: destroy the graph "
     "first.",
     "cudaGraphExecDestroy(exec);\n"
     "cuModuleUnload(module);                      // only then",
     "# Keep the object that owns the compiled kernel (a Triton or CuPy module, a C++ extension)\n"
     "keep = (graph, compiled_kernel)              # as long as it is replayed",
     "# The same as for PyTorch: keep what owns the kernels as long as the graphed callable."},
    {"destroyed-communicator",
     "Destroy every graph that captured a collective before its communicator: the executable "
     "graphs, and the graphs that they were instantiated from.",
     "cudaGraphExecDestroy(exec);\n"
     "cudaGraphDestroy(graph);\n"
     "ncclCommDestroy(comm);                       // only then",
     "graph.reset()                                # of every graph with a collective\n"
     "torch.distributed.destroy_process_group()    # only then",
     "# The graphs go with the callables that make_graphed_callables returned:\n"
     "del graphed_module; gc.collect()\n"
     "torch.distributed.destroy_process_group()    # only then"},
};

}  // namespace

Fix fix_of(const std::string& rule) {
  for (const RuleFix& fix : kFixes) {
    if (fix.rule != rule) continue;
    return {.words = std::string(fix.words),
            .cublaslt = std::string(fix.cublaslt),
            .pytorch = std::string(fix.pytorch),
            .transformer_engine = std::string(fix.transformer_engine)};
  }
  return {};
}

}  // namespace profiling
