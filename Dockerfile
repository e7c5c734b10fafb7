# Heads Up with its pinned packages: by itself, for deploy/compose.yaml, and for a Hugging Face Space, which asks for port
# 7860 and user 1000 and says by SPACE_HOST where it is (deploy/space.md). TORCH_INDEX: where PyTorch comes from; empty
# for the one with CUDA.
FROM python:3.11-slim-bookworm AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m venv --without-pip /opt/headsup
COPY requirements.txt /build/
# Tests and headers of packages, a sixth of all, are left out.
RUN pip --python /opt/headsup install --no-cache-dir -r /build/requirements.txt \
    ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} \
    && find /opt/headsup -type d \( -name test -o -name tests -o -name include \) -prune -exec rm -r {} +
COPY . /build
RUN pip --python /opt/headsup install --no-cache-dir --no-deps /build

FROM python:3.11-slim-bookworm
RUN useradd --uid 1000 --create-home user && install --directory --owner user /home/user/kept
COPY --from=build /opt/headsup /opt/headsup
USER 1000
ENV HOME=/home/user PATH=/opt/headsup/bin:$PATH HEADSUP_HOME=/home/user/kept
WORKDIR /home/user
EXPOSE 7860
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/health', timeout=4)"]
# A Space's proxy has a private address, and shows the app in a frame on huggingface.co.
ENTRYPOINT ["sh", "-c", "exec ${SPACE_HOST:+env FORWARDED_ALLOW_IPS=10.0.0.0/8,172.16.0.0/12,192.168.0.0/16} \
    headsup serve --proxy-elsewhere --host 0.0.0.0 --port 7860 \
    ${SPACE_HOST:+--name $SPACE_HOST --framed-by https://huggingface.co} \"$@\"", "headsup"]
CMD ["--workers", "1"]
