#include "profiling/attach/preload/real_symbols.h"

#include <elf.h>
#include <link.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstring>

#if !defined(__x86_64__)
#error "the trampolines below are written for x86-64"
#endif

// dlsym must jump to the real function, not call it: RTLD_NEXT means the caller's next library, and
// the C library takes the caller from the return address. A compiler does not guarantee that jump.
// Saved: what holds the arguments.
extern "C" {
[[gnu::visibility("hidden")]] std::atomic<void*> expertscope_attach_dlsym{nullptr};
[[gnu::visibility("hidden")]] std::atomic<void*> expertscope_attach_dlvsym{nullptr};
[[gnu::visibility("hidden")]] void expertscope_attach_find_symbols();
}
asm(R"(
    .text
    .macro look_up name, real
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    cmpq $0, \real(%rip)
    jne 1f
    call expertscope_attach_find_symbols
    movq 16(%rsp), %rdi
    movq 8(%rsp), %rsi
1:  call expertscope_attach_wrapped
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jne 2f
    jmp *\real(%rip)
2:  ret
    .cfi_endproc
    .size \name, . - \name
    .endm
    look_up dlsym, expertscope_attach_dlsym
    look_up dlvsym, expertscope_attach_dlvsym
)");

namespace attach {
namespace {

/// The dynamic symbols of one loaded library, read from its memory: asking dlsym would find this
/// library's.
struct DynamicSymbols {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Half) * versions = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH
  ElfW(Addr) base = 0;
};

DynamicSymbols symbols_of(const dl_phdr_info& library) {
  DynamicSymbols found;
  found.base = library.dlpi_addr;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    // The C library's own entries are relocated when it is loaded: they are addresses.
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) at = entry->d_un.d_ptr < library.dlpi_addr
                                ? library.dlpi_addr + entry->d_un.d_ptr
                                : entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(at);
      if (entry->d_tag == DT_VERSYM) found.versions = reinterpret_cast<const ElfW(Half)*>(at);
      if (entry->d_tag == DT_GNU_HASH) found.hash = reinterpret_cast<const std::uint32_t*>(at);
    }
  }
  return found;
}

std::uint32_t gnu_hash(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

/// The default version of a function; null = none.
void* find(const DynamicSymbols& library, const char* name) {
  if (library.symbols == nullptr || library.names == nullptr || library.hash == nullptr)
    return nullptr;
  // The format of DT_GNU_HASH: bucket count, first hashed symbol, words of the filter, its shift.
  const std::uint32_t buckets = library.hash[0];
  const std::uint32_t first = library.hash[1];
  const std::uint32_t filter_words = library.hash[2];
  const std::uint32_t* bucket =
      library.hash + 4 + std::size_t{filter_words} * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chain = bucket + buckets;
  const std::uint32_t hash = gnu_hash(name);
  if (buckets == 0) return nullptr;
  std::uint32_t index = bucket[hash % buckets];
  if (index < first) return nullptr;
  constexpr ElfW(Half) kHidden = 0x8000;  // not the default version
  for (;; ++index) {
    const std::uint32_t of_symbol = chain[index - first];
    const ElfW(Sym)& symbol = library.symbols[index];
    const bool same =
        (of_symbol | 1) == (hash | 1) && std::strcmp(library.names + symbol.st_name, name) == 0;
    const bool hidden = library.versions != nullptr && (library.versions[index] & kHidden) != 0;
    if (same && !hidden && symbol.st_shndx != SHN_UNDEF) {
      return reinterpret_cast<void*>(library.base + symbol.st_value);
    }
    if ((of_symbol & 1) != 0) return nullptr;  // the chain's last
  }
}

int find_in_c_library(dl_phdr_info* library, std::size_t, void*) {
  const char* slash = std::strrchr(library->dlpi_name, '/');
  if (std::strcmp(slash == nullptr ? library->dlpi_name : slash + 1, "libc.so.6") != 0) return 0;
  const DynamicSymbols symbols = symbols_of(*library);
  expertscope_attach_dlsym.store(find(symbols, "dlsym"));
  expertscope_attach_dlvsym.store(find(symbols, "dlvsym"));
  return 1;
}

struct Search {
  const char* symbol;
  const void* besides;
  void* found = nullptr;
};

int find_in_library(dl_phdr_info* library, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  void* found = find(symbols_of(*library), search.symbol);
  if (found == nullptr || found == search.besides) return 0;
  search.found = found;
  return 1;
}

}  // namespace

void* defined_anywhere(const char* symbol, const void* besides) {
  Search search{.symbol = symbol, .besides = besides};
  dl_iterate_phdr(find_in_library, &search);
  return search.found;
}

void* real_dlsym(void* handle, const char* symbol) {
  if (expertscope_attach_dlsym.load(std::memory_order_acquire) == nullptr)
    expertscope_attach_find_symbols();
  return reinterpret_cast<void* (*)(void*, const char*)>(expertscope_attach_dlsym.load())(handle,
                                                                                          symbol);
}

}  // namespace attach

void expertscope_attach_find_symbols() {
  dl_iterate_phdr(attach::find_in_c_library, nullptr);
  // glibc before 2.34 keeps them in libdl: the environment that sets the preload is told so by this
  // exit, which comes before any code of the program that looks a symbol up.
  if (expertscope_attach_dlsym.load() == nullptr || expertscope_attach_dlvsym.load() == nullptr) {
    constexpr char kReason[] = "libexpertscope-attach.so needs glibc 2.34 or newer\n";
    (void)!write(STDERR_FILENO, kReason, sizeof kReason - 1);
    _exit(127);
  }
}
