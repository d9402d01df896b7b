# The shared libraries of glibc: always the machine's own, in packages (install_libraries.cmake) and in what is sent to
# another machine (app/remote/worker_bundle.cpp).
set(glibc_libraries ld-linux-x86-64.so.2 libc.so.6 libdl.so.2 libm.so.6 libmvec.so.1 libpthread.so.0 libresolv.so.2
                    librt.so.1 libutil.so.1)
