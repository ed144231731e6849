# Cross-compiles for 64-bit ARM with the libraries that tests/neon/run unpacks, and runs the result under qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)

# The compiler brings its own C and C++ libraries, so the unpacked ones are no sysroot in its sense.
get_filename_component(sysroot ${CMAKE_CURRENT_LIST_DIR}/../build-neon/sysroot ABSOLUTE)
set(libraries ${sysroot}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CXX_FLAGS_INIT "-isystem ${sysroot}/usr/include -isystem ${sysroot}/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${libraries} -Wl,-rpath,${libraries}")
# Its shared library is a link to an absolute path, which leads out of the sysroot.
set(ZLIB_LIBRARY ${libraries}/libz.a CACHE FILEPATH "zlib for 64-bit ARM")
